// node --experimental-websocket speed.js SITE --steps 03_smem_tiling.tiled,…: the simulator's speed in headless Chromium, in
// million warp instructions per second, on the last recorded run of each, the fastest of three; and the time from a click on
// step 03's page to its first result. JSON.
"use strict";
const { Browser, option, serve } = require("./browser.js");

async function main(site, names) {
  const server = await serve(site);
  const browser = await Browser.start(option("--browser", "chromium"));
  const page = await browser.page();
  const speeds = {};
  for (const name of names) {
    const [step, variant] = name.split(".");
    await page.open(`${server.root}/steps/${step}/index.html`);
    speeds[name] = await page.value(`(async () => {
      const kernel = await explorables.recorded("kernels", "${step}", "${variant}");
      const index = kernel.runs.length - 1;
      const simulator = await explorables.Simulator.start();
      const rates = [];
      for (let i = 0; i < 3; ++i) {
        await simulator.call("open", { recorded: explorables.run(kernel, index), options: { seed: 0 } });
        const { kernels, seconds } = await simulator.call("run");
        rates.push(kernels.reduce((sum, each) => sum + each.counts.instructions, 0) / seconds / 1e6);
      }
      return Math.max(...rates);
    })()`);
  }
  const firsts = [];
  for (let i = 0; i < 3; ++i) {
    await page.open(`${server.root}/steps/03_smem_tiling/index.html#explore-run?guess=2`);
    await page.until(`document.querySelector("#explore-run tr[data-line]")`);
    firsts.push(await page.value(`new Promise((resolve) => {
      const begin = performance.now();
      const place = document.querySelector("#explore-run");
      new MutationObserver(() => place.dataset.counts && resolve(performance.now() - begin)).observe(place, { attributes: true });
      [...place.querySelectorAll("button")].find((b) => /^Predict and run$/.test(b.textContent)).click();
    })`));
  }
  console.log(JSON.stringify({ speeds, first_result_ms: firsts }));
  browser.end();
  server.close();
  server.closeAllConnections?.();
}

main(process.argv[2], option("--steps", "").split(",")).then(() => process.exit(0)).catch((problem) => {
  console.error(problem);
  process.exit(1);
});
