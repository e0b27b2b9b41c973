// node --experimental-websocket explorables.js SITE [--steps 03,20]: opens the explorables of a built site
// in headless Chromium, in both languages, uses them with mouse and keyboard, and compares what they show with what the
// native simulator recorded (build-site/kernels/*.expected.json). Exit code 1 where something is wrong.
"use strict";
const fs = require("fs");
const path = require("path");
const { Browser, option, serve } = require("./browser.js");

async function main(site, options) {
  const kernels = path.join(site, "..", "kernels");
  const server = await serve(site);
  const { root } = server;
  const browser = await Browser.start(options.browser);
  const page = await browser.page();
  let passed = 0;
  const failures = [];

  async function check(name, body) {
    page.problems.length = 0;
    try {
      await body();
      if (page.problems.length) throw new Error(`the console says: ${page.problems.join("; ").slice(0, 400)}`);
      ++passed;
      console.log(`passed ${name}`);
    } catch (problem) {
      failures.push(name);
      console.log(`FAILED ${name}: ${problem.message}`);
    }
  }
  const inOrder = (key, value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value);
  const expect = (got, wanted, what) => {
    if (JSON.stringify(got, inOrder) !== JSON.stringify(wanted, inOrder)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
  };
  const expected = (name) => JSON.parse(fs.readFileSync(path.join(kernels, `${name}.expected.json`), "utf8"));
  const RUN = "#explore-run";

  async function runStep(url, step) {
    await page.open(url);
    await page.until(`document.querySelector("${RUN} tr[data-line]")`);
    // Without a prediction nothing runs, and a sentence says so.
    await page.click(`${RUN} .controls + p + .controls button`);
    await page.until(`document.querySelector("${RUN} .status").textContent.length > 5`);
    await page.click(`${RUN} input[inputmode=decimal]`);
    await page.type("1.5");
    await page.press("Tab");
    await page.press("Enter"); // the button, by the keyboard
    await page.until(`document.querySelector("${RUN}").dataset.counts`, 120);
    const variant = await page.value(`document.querySelector("${RUN}").dataset.variants.split(" ")[0]`);
    const symbol = await page.value(`explorables.recorded("kernels", "${step}", "${variant}").then(({ runs }) => runs[0].launches[explorables.main(runs[0])].kernel)`);
    const native = expected(`${step}.${variant}`)[0].kernels.find((each) => each.symbol === symbol);
    expect(JSON.parse(await page.value(`document.querySelector("${RUN}").dataset.counts`)), native.counts, "counts");
    expect(await page.value(`document.querySelector("${RUN}").dataset.same`), "true", "C is the native one");
    expect((await page.value("location.hash")).includes("guess=1.5"), true, "the address keeps the prediction");
    // A line's requests by one warp are as many wavefronts or sectors each as the line's counts say.
    const line = native.lines.find(({ counts }) => counts.shared_load_requests);
    if (!line) return;
    await page.value(`document.querySelector('${RUN} tr[data-line="${line.line}"] button').click()`);
    const [first] = JSON.parse(await page.until(`document.querySelector("${RUN}").dataset.requests`, 60));
    if (line.counts.shared_load_wavefronts % line.counts.shared_load_requests === 0 && first.wavefronts) {
      expect(first.wavefronts, line.counts.shared_load_wavefronts / line.counts.shared_load_requests, `wavefronts of line ${line.line}`);
    }
  }

  async function stepThrough() {
    await page.value(`[...document.querySelectorAll("${RUN} button")].find((b) => /^(Step through it|单步执行)$/.test(b.textContent)).click()`);
    await page.until(`document.querySelector("${RUN} .warps")`);
    const count = () => page.value(`Number(/\\d+/.exec(document.querySelector("${RUN} h3 ~ p").textContent)[0])`);
    const press = (words) => page.value(`[...document.querySelectorAll("${RUN} button")].find((b) => ${words}.test(b.textContent)).click()`);
    expect(await count(), 0, "steps at the start");
    await press("/^(an instruction|一条指令)$/");
    await page.until(`/\\b1\\b/.test(document.querySelector("${RUN} h3 ~ p").textContent)`);
    await press("/^(until it waits|直到它等待)$/");
    await page.until(`Number(/\\d+/.exec(document.querySelector("${RUN} h3 ~ p").textContent)[0]) > 1`);
    await press("/^(back|后退)$/");
    await page.until(`Number(/\\d+/.exec(document.querySelector("${RUN} h3 ~ p").textContent)[0]) === 1`);
  }

  for (const step of options.steps) {
    for (const tree of ["", "zh/"]) {
      const url = `${root}/${tree}steps/${step}/index.html`;
      if (!fs.existsSync(path.join(site, tree, "steps", step, "index.html"))) continue;
      await check(`run ${tree}${step}`, () => runStep(url, step));
      if (step === options.steps[0]) await check(`step through ${tree}${step}`, stepThrough);
      if (step === options.steps[0]) {
        await check(`bad PTX ${tree}${step}`, async () => {
          await page.open(url);
          await page.until(`document.querySelector("${RUN} tr[data-line]")`);
          for (const [text, words] of [
            [".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\nfrobnicate.u32 1;\nret;\n}\n", "frobnicate"],
            ["int main() {}", "entry"],
          ]) {
            await page.value(`(() => { const box = document.querySelector("${RUN} textarea"); box.closest("details").open = true; box.value = ${JSON.stringify(text)}; [...document.querySelectorAll("${RUN} details button")].at(-1).click(); })()`);
            await page.until(`document.querySelector("${RUN} .status").textContent.includes("${words}")`);
          }
        });
      }
    }
  }

  for (const tree of ["", "zh/"]) {
    const url = `${root}/${tree}docs/bank-conflicts.html`;
    const BANKS = "#explore-banks";
    await check(`banks ${tree}`, async () => {
      for (const [state, wavefronts] of options.banks) {
        await page.open(`${url}#explore-banks?${state}&guess=${wavefronts}`);
        await page.until(`document.querySelector("${BANKS} .bank-grid")`);
        await page.click(`${BANKS} input[inputmode=numeric]`);
        await page.press("Enter");
        await page.until(`document.querySelector("${BANKS}").dataset.wavefronts`);
        expect(Number(await page.value(`document.querySelector("${BANKS}").dataset.wavefronts`)), wavefronts, state);
      }
    });
  }

  for (const tree of ["", "zh/"]) {
    await check(`waves ${tree}`, async () => {
      // 512 tiles on 132 multiprocessors: four waves, of which 16 places stay empty.
      await page.open(`${root}/${tree}docs/start-here.html#explore-waves?m=4096&n=4096&tile=128x256&sms=132&guess=3`);
      await page.until(`document.querySelector("#explore-waves button")`);
      await page.click("#explore-waves button");
      await page.until(`document.querySelector("#explore-waves").dataset.waves === "4"`);
      expect((await page.value(`document.querySelector("#explore-waves p[role=status]").textContent`)).includes("3.0"), true, "3.0 % of the places are empty");
    });
    await check(`digits ${tree}`, async () => {
      for (const [type, row, sum] of options.digits) {
        await page.open(`${root}/${tree}docs/tensor-cores.html#explore-digits?${new URLSearchParams({ type, row, guess: "1" })}`);
        await page.until(`document.querySelector("#explore-digits button")`);
        await page.click("#explore-digits button");
        await page.until(`document.querySelector("#explore-digits").dataset.sum`);
        expect(Number(await page.value(`document.querySelector("#explore-digits").dataset.sum`)), sum, `${type} ${row}`);
      }
      await page.open(`${root}/${tree}docs/tensor-cores.html#explore-digits?row=1+x&guess=1`);
      await page.until(`document.querySelector("#explore-digits button")`);
      await page.click("#explore-digits button");
      await page.until(`document.querySelector("#explore-digits p[role=status]").textContent.includes("x")`);
    });
  }

  for (const step of options.broken) {
    for (const tree of ["", "zh/"]) {
      await check(`break ${tree}${step}`, async () => {
        await page.open(`${root}/${tree}steps/${step}/index.html`);
        const BREAK = "#explore-break";
        await page.until(`document.querySelector("${BREAK} pre")`);
        await page.value(`(() => { const select = document.querySelectorAll("${BREAK} select")[1]; select.value = "report"; select.dispatchEvent(new Event("change")); })()`);
        await page.click(`${BREAK} > button`);
        await page.until(`document.querySelector("${BREAK}").dataset.outcome`, 120);
        const { kind, unordered } = expected(`${step}.mistakes`)[0].reports[0];
        expect((await page.value(`document.querySelector("${BREAK} details").textContent`)).includes(`${kind}:`), true, `a report of kind ${kind}`);
        if (!unordered) return;
        await page.click(`${BREAK} button.order`);
        await page.until(`document.querySelector("${BREAK} svg.order")`, 60);
        expect(JSON.parse(await page.value(`document.querySelector("${BREAK}").dataset.unordered`)), unordered, "the clocks of both accesses");
      });
      const warned = expected(`${step}.mistakes`).findIndex(({ reports, warnings }) => !reports.length && warnings.length);
      if (warned < 0) continue;
      await check(`break with a warning ${tree}${step}`, async () => {
        await page.open(`${root}/${tree}steps/${step}/index.html#explore-break?mistake=${warned}&guess=warned`);
        await page.until(`document.querySelector("#explore-break pre")`);
        await page.click("#explore-break > button");
        await page.until(`document.querySelector("#explore-break").dataset.outcome`, 120);
        expect(await page.value(`document.querySelector("#explore-break").dataset.outcome`), "warned", "outcome");
        const { kind, message } = expected(`${step}.mistakes`)[warned].warnings[0];
        expect((await page.value(`document.querySelector("#explore-break .warning").textContent`)).endsWith(`${kind}: ${message}`), true, "the warning is shown");
      });
    }
  }

  /** The events of a step as the native simulator recorded them (lab/events.py packs them). */
  function nativeEvents(step) {
    const { shapes, events } = JSON.parse(fs.readFileSync(path.join(__dirname, "../../records/simulator/events", `${step}.json`), "utf8"));
    return events.map(([shape, ...values]) => Object.fromEntries([["kind", shapes[shape][0]], ...shapes[shape].slice(1).map((name, i) => [name, values[i]])]));
  }
  const RINGS = "#explore-rings";
  const sameKeys = (event) => JSON.stringify(Object.entries(event).filter(([key, value]) => !["seq", "stamp", "site", "previous"].includes(key) && value !== null).sort());

  for (const step of options.rings) {
    for (const tree of ["", "zh/"]) {
      await check(`rings ${tree}${step}`, async () => {
        const native = nativeEvents(step);
        await page.open(`${root}/${tree}steps/${step}/index.html`);
        await page.until(`document.querySelector("${RINGS} button")`);
        await page.click(`${RINGS} input[inputmode=numeric]`);
        await page.type("3");
        await page.press("Enter");
        await page.until(`document.querySelector("${RINGS}").dataset.events`, 120);
        const got = await page.value(`document.querySelector("${RINGS}").events`);
        expect(got.length, native.length, "events");
        const other = native.findIndex((event, i) => sameKeys(event) !== sameKeys(got[i]));
        if (other >= 0) throw new Error(`event ${other} is ${sameKeys(got[other])}, not ${sameKeys(native[other])}`);
        // One arrival less, as the reader takes it away; the slider obeys the keyboard, and the address keeps its place.
        const arrival = native.findIndex(({ kind, phase }) => kind === "mbarrier_arrive" && phase === 1);
        if (arrival < 0) return;
        await page.open(`${root}/${tree}steps/${step}/index.html#explore-rings?guess=3&at=${arrival - 1}`);
        await page.until(`document.querySelector("${RINGS} input[type=range]")`, 120);
        await page.value(`document.querySelector("${RINGS} input[type=range]").focus()`);
        await page.press("ArrowRight");
        await page.until(`document.querySelector("${RINGS} .take-away") && location.hash.includes("at=${arrival}")`);
        await page.value(`(() => { const select = document.querySelector("${RINGS} .ring-now select"); select.value = "deadlock"; select.dispatchEvent(new Event("change")); })()`);
        await page.click(`${RINGS} .take-away`);
        await page.until(`document.querySelector("${RINGS}").dataset.outcome`, 120);
        expect(await page.value(`document.querySelector("${RINGS}").dataset.outcome`), "deadlock", "without an arrival");
        await page.until(`/deadlock in/.test(document.querySelector("${RINGS} .problem")?.textContent)`);
      });
    }
  }

  await require("./follow.js")({ page, check, expect, root, kernels, steps: options.steps });

  // From files: no server, worker and module inlined.
  await check("from files", async () => {
    await page.open(`file://${path.resolve(site)}/docs/bank-conflicts.html#explore-banks?bytes=4&across=1&pitch=33&guess=1`);
    await page.until(`document.querySelector("#explore-banks .bank-grid")`);
    await page.click("#explore-banks input[inputmode=numeric]");
    await page.press("Enter");
    await page.until(`document.querySelector("#explore-banks").dataset.wavefronts`);
  });

  // A browser without WebAssembly, and one that has it but cannot compile the module: here a section of no known kind.
  for (const [name, source] of [
    ["without WebAssembly", "delete window.WebAssembly;"],
    ["with WebAssembly that does not compile", "const get = window.fetch; window.fetch = async (what, ...rest) => (/ptxsim\\.wasm$/.test(what) ? new Response(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 99, 0])) : get(what, ...rest));"],
  ]) {
    for (const [tree, sentence] of [["", "This browser has no WebAssembly"], ["zh/", "这个浏览器没有 WebAssembly"]]) {
      await check(`${name} ${tree}`.trim(), async () => {
        const { identifier } = await page.call("Page.addScriptToEvaluateOnNewDocument", { source });
        try {
          await page.open(`${root}/${tree}docs/bank-conflicts.html`);
          await page.until(`document.querySelector("#explore-banks .bank-grid")`);
          await page.click("#explore-banks input[inputmode=numeric]");
          await page.type("4");
          await page.press("Enter");
          await page.until(`document.querySelector("#explore-banks p[role=status]").textContent.startsWith("${sentence}")`);
        } finally {
          await page.call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
        }
      });
    }
  }

  browser.end();
  server.close();
  server.closeAllConnections?.();
  console.log(`${passed} passed, ${failures.length} failed`);
  return failures.length || !passed ? 1 : 0;
}

main(process.argv[2], {
  browser: option("--browser", "chromium"),
  steps: option("--steps", "03_smem_tiling").split(","),
  broken: option("--broken", "03_smem_tiling").split(",").filter(Boolean),
  rings: option("--rings", "24_warp_specialised").split(",").filter(Boolean),
  // Two ones beside 2^24 count where they are added at once, which FP32 one by one loses.
  digits: [["bf16", "16777216 1 1", 16777218], ["f16", "1 2 3", 6], ["f16", "2048 1 1 0.1 -2048", 2.0999755859375],
    // FP8 keeps 13 bits below the largest: 2^-5 beside 2^8 is kept, 2^-6 is not, however many of them there are.
    ["e4m3", "256 1 0.03125 0.015625 0.015625", 257.03125], ["e5m2", "256 1 0.03125 0.015625 0.015625", 257.03125],
    // 0.1 is 209715 · 2^-21 where 3 decides on the power of two.
    ["digits", "1 0.1 -3", -1.9000000953674316]],
  // Known by hand: a column of a tile of 32 words, of one with a pad, rows, pairs of words, an XOR.
  banks: [["bytes=4&across=1&pitch=32", 32], ["bytes=4&across=1&pitch=33", 1], ["bytes=4&across=32&pitch=32", 1], ["bytes=16&across=1&pitch=32&xor=0", 32], ["bytes=16&across=1&pitch=32&xor=3", 4]],
}).then((code) => process.exit(code)).catch((problem) => {
  console.error(problem);
  process.exit(1);
});
