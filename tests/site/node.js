// node node.js FOLDER-OF-WASM FILE.js…: does the recorded runs of each file again in WebAssembly, and compares C, counts and
// findings with what the native simulator recorded. A line each; exit code 1 where one differs.
"use strict";
const fs = require("fs");
const path = require("path");
const { Session } = require("../../tools/site/explorables/session.js");

/** Where two JSON values differ; empty where they do not. */
function difference(a, b, at = "") {
  if (typeof a !== typeof b || a === null || b === null || typeof a !== "object") return a === b ? "" : `${at}: ${JSON.stringify(a)}, not ${JSON.stringify(b)}`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = difference(a[key], b[key], `${at}/${key}`);
    if (found) return found;
  }
  return "";
}

/** Counts and findings of a summary, without times and without where sources lay; of kernels that the host counted. */
function compared(summary, counted = summary) {
  const known = counted.kernels.map(({ symbol }) => symbol);
  const kernels = summary.kernels.filter(({ symbol }) => known.includes(symbol)).map(({ symbol, grid, block, counts, lines }) => ({
    ...{ symbol, grid, block, counts },
    lines: lines.map(({ file, line, counts: of }) => ({ file: path.basename(file), line, counts: of })),
  }));
  const [reports, warnings] = [summary.reports, summary.warnings].map((found) => found.map(({ kind, message }) => `${kind}: ${message}`));
  return { kernels, reports, warnings };
}

async function main(folder, files) {
  process.setMaxListeners(0); // each module of emscripten listens for the end
  const ptxsim = require(path.resolve(folder, "ptxsim.js"));
  const wasmBinary = fs.readFileSync(path.join(folder, "ptxsim.wasm"));
  let passed = 0;
  let failed = 0;
  for (const file of files) {
    let kernel = null;
    new Function("explorables", fs.readFileSync(file, "utf8"))({ kernel: (recorded) => (kernel = recorded) });
    const expected = JSON.parse(fs.readFileSync(file.replace(/\.js$/, ".expected.json"), "utf8"));
    for (const [number, run] of kernel.runs.entries()) {
      const name = `${kernel.step} ${kernel.variant} ${run.m}×${run.n}×${run.k}` + (run.kind ? ` ${run.kind}, line ${run.line}` : "");
      const session = new Session(await ptxsim({ wasmBinary }));
      session.open({ ...run, modules: kernel.modules }, {});
      const got = await session.run();
      // The last launches of step 33 may have nothing to do; of one that fails the host has no results.
      const last = run.launches.findLast(({ results }) => results.length);
      const problems = (last ? last.results : []).filter(({ allocation, hash }) => session.hash(allocation) !== hash).map(() => "C differs");
      problems.push(difference(compared(got, expected[number]), compared(expected[number])));
      const problem = problems.filter(Boolean).join("; ");
      problem ? ++failed : ++passed;
      const rate = run.instructions / got.seconds / 1e6;
      console.log(`${problem ? "FAILED" : "equal "} ${name}: ${run.instructions} instructions, ${rate.toFixed(2)} million per second ${problem.slice(0, 300)}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

const [folder, ...files] = process.argv.slice(2);
main(folder, files).catch((problem) => {
  console.error(problem);
  process.exit(1);
});
