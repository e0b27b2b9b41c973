// node label.js FOLDER-OF-WASM FILE.json: replaces inputs that the harness has drawn by how it drew them, and prints the
// JSON. What was not drawn stays as its bytes.
"use strict";
const fs = require("fs");
const path = require("path");
const { Session } = require("./session.js");

const TYPES = { f32: 4, f16: 2, bf16: 2, e4m3: 1, e5m2: 1, s8: 1 };

async function main(folder, file) {
  const ptxsim = require(path.resolve(folder, "ptxsim.js"));
  const session = new Session(await ptxsim({ wasmBinary: fs.readFileSync(path.join(folder, "ptxsim.wasm")) }));
  const recorded = JSON.parse(fs.readFileSync(file, "utf8"));
  const drawn = (digits, bytes) => {
    const at = session.ask({ do: "allocate", bytes }).address;
    for (const [type, width] of Object.entries(TYPES)) {
      for (const seed of [3, 4, 5]) {
        for (const deviation of [1, 32]) {
          const recipe = { type, count: bytes / width, seed, deviation };
          session.draw(at, { ...recipe, count: 8 });
          const begins = Buffer.from(session.module.HEAPU8.slice(at, at + 8 * width)).toString("hex");
          if (!digits.startsWith(begins)) continue;
          session.draw(at, recipe);
          if (Buffer.from(session.module.HEAPU8.slice(at, at + bytes)).toString("hex") === digits) return recipe;
        }
      }
    }
    return null;
  };
  for (const run of recorded.runs) {
    for (const launch of [...run.launches, ...(run.right ? run.right.launches : [])]) {
      for (const write of launch.writes) {
        if (!write.bytes || write.bytes.length < 256) continue;
        const recipe = drawn(write.bytes, run.allocations[write.allocation]);
        if (recipe) (write.drawn = recipe), delete write.bytes;
      }
    }
  }
  process.stdout.write(JSON.stringify(recorded));
}

main(...process.argv.slice(2)).catch((problem) => {
  console.error(problem);
  process.exit(1);
});
