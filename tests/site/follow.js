// "Where does this element go?" as a reader uses it: what the page shows of an element is what the native simulator says of it
// (tools/site/follow.py), and back from C, a bank and a lane leads to the right elements of A and B.
"use strict";
const fs = require("fs");
const path = require("path");

const FOLLOW = "#explore-follow";

/** What of an answer does not depend on the inputs, which are others in the native run, nor on where the sources lay. */
function same({ element, clusters, cluster, blocks, steps, marks, sites, feeds }) {
  const c = new Set(feeds.flatMap(({ allocation, offset, bytes }) => Array.from({ length: bytes }, (_, i) => `${allocation}:${(offset + i) >> 2}`)));
  const kept = marks.map(({ first_byte: first, ...mark }) => (mark.sum ? mark : { first, ...mark }));
  const opcodes = Object.fromEntries(Object.entries(sites).map(([site, { instruction, line }]) => [site, [instruction, line]]));
  return JSON.stringify({ element, clusters, cluster, blocks, steps, kept, opcodes, words: c.size });
}

module.exports = async ({ page, check, expect, root, kernels, steps }) => {
  const data = (key, seconds = 60) => page.until(`document.querySelector("${FOLLOW}").dataset.${key}`, seconds);
  const status = () => page.value(`document.querySelector("${FOLLOW} .status").textContent`);

  const short = steps.length <= 2; // of ./gemm test --site short: one step, in one language
  for (const step of short ? steps.slice(0, 1) : steps) {
    const file = path.join(kernels, `${step}.follow.expected.json`);
    if (!fs.existsSync(file)) continue;
    const expected = JSON.parse(fs.readFileSync(file, "utf8"));
    for (const tree of short ? [""] : ["", "zh/"]) {
      const url = `${root}/${tree}steps/${step}/index.html`;
      await check(`follow ${tree}${step}`, async () => {
        for (const { of, row, col, followed } of expected) {
          await page.open(`${url}#explore-follow?of=${of}&row=${row}&col=${col}`);
          await page.until(`document.querySelector("${FOLLOW} .matrices svg")`);
          await page.click(`${FOLLOW} input[inputmode=numeric]`);
          await page.press("Enter");
          if ((await status()).length < 5) throw new Error("no sentence asks for a prediction");
          const { bank } = followed.marks.find(({ kind }) => kind === "shared");
          await page.type(String(bank));
          await page.press("Enter");
          await data("followed", 90);
          const got = await page.value(`document.querySelector("${FOLLOW}").followed`);
          if (same(got) !== same(followed)) throw new Error(`${of}[${row}][${col}]: ${same(got).slice(0, 300)}, not ${same(followed).slice(0, 300)}`);
          if (!/right|正确/.test(await status())) throw new Error(`the prediction was right, and the page says: ${await status()}`);
          expect((await page.value("location.hash")).includes(`guess=${bank}`), true, "the address keeps the prediction");
        }
      });
      await check(`follow back ${tree}${step}`, async () => {
        const { of, row, col, followed } = expected[0];
        const { shared, step: at } = followed.marks.find(({ kind }) => kind === "shared");
        const link = (back, count) => `${url}#explore-follow?${new URLSearchParams({ of, row, col, guess: 1, back, count })}`;
        await page.open(link(`shared:${Math.floor(shared / 4) * 4}:${at + 1}`, 1));
        const [[array, rows, first, cols]] = JSON.parse(await data("back", 90));
        const width = followed.element.bytes;
        expect([array, rows, first, cols], [0, 1, row, 4 / width], "what lies in four bytes of shared memory");
        if (step !== steps[0]) return;
        await page.open(link("c:9:11", 1));
        const depth = JSON.parse(await data("back", 120));
        const k = depth[0][3];
        expect(depth, [[0, 1, 9, k, 0], [1, k, 0, 1, 11]], "what C[9][11] is made of");
        // A lane by the keyboard: one that is pressed asks back.
        await page.value(`document.querySelector("${FOLLOW} .cells button.used").focus()`);
        await page.press("Enter");
        await page.until(`document.activeElement.inputMode === "numeric" && location.hash.includes("back=lane")`);
        await page.type("1");
        await page.press("Enter");
        expect(JSON.parse(await data("back", 90)), [[0, 1, row, 1, col]], "what the lane has loaded");
      });
    }
  }
};
