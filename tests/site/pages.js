// node --experimental-websocket pages.js SITE --axe FILE [--pictures FOLDER] [--short] [--only digits,code]: looks at a page of each kind, and at the explorables
// after they were used, in both languages, light and dark. axe-core finds nothing serious or critical on them, and the
// console says nothing. Pictures are taken for a comparison (tools/site/pictures.py). Exit code 1 where something is wrong.
"use strict";
const fs = require("fs");
const path = require("path");
const { Browser, option, serve } = require("./browser.js");

// A page of each kind, and of those whose head is kept as a picture a name.
const KINDS = [
  ["index.html", "front"],
  ["docs/start-here.html"],
  ["docs/glossary.html"],
  ["steps/20_mma_warp_swizzle/index.html", "chapter"],
  ["steps/20_mma_warp_swizzle/data.html", "data"],
  ["steps/20_mma_warp_swizzle/changes.html", "changes"],
  ["code/common/device/tiles.h.html", "code"],
  ["steps/26_clusters/index.html"],
  ["docs/simulator-reference.html"],
  ["records/index.html"],
  ["CONTRIBUTING.html"],
  ["notices.html"],
];

const press = (name, words) => `[...document.querySelectorAll("#explore-${name} button")].find((b) => ${words}.test(b.textContent)).click()`;
const made = (name, key) => `document.querySelector("#explore-${name}")?.dataset.${key}`;
// Of each explorable: its page, its state in the address, what is done, and when it is over.
const USED = [
  ["run", "steps/03_smem_tiling/index.html", "guess=2", async (page) => {
    await page.until(`document.querySelector("#explore-run tr[data-line]")`);
    await page.value(press("run", "/^(Predict and run|先预测，再运行)$/"));
    await page.until(made("run", "counts"), 120);
    await page.value(press("run", "/^(Step through it|单步执行)$/"));
    await page.until(`document.querySelector("#explore-run .warps")`);
  }],
  ["break", "steps/03_smem_tiling/index.html", "", async (page) => {
    await page.until(`document.querySelector("#explore-break pre")`);
    await page.value(`(() => { const select = document.querySelectorAll("#explore-break select")[1]; select.value = "report"; select.dispatchEvent(new Event("change")); document.querySelector("#explore-break > button").click(); })()`);
    await page.until(made("break", "outcome"), 120);
    await page.click("#explore-break button.order");
    await page.until(`document.querySelector("#explore-break svg.order")`);
  }],
  ["follow", "steps/03_smem_tiling/index.html", "of=A&row=3&col=5&guess=1", (page) => page.until(made("follow", "followed"), 120)],
  ["rings", "steps/24_warp_specialised/index.html", "guess=4&at=90", (page) => page.until(made("rings", "events"), 120)],
  ["banks", "docs/bank-conflicts.html", "across=1&pitch=32&guess=32", async (page) => {
    await page.until(`document.querySelector("#explore-banks .bank-grid")`);
    await page.value(`document.querySelector("#explore-banks button").click()`);
    await page.until(made("banks", "wavefronts"));
  }],
  ["waves", "docs/start-here.html", "guess=3", async (page) => {
    await page.until(`document.querySelector("#explore-waves button")`);
    await page.value(`document.querySelector("#explore-waves button").click()`);
    await page.until(`document.querySelector("#explore-waves table.counts")`);
  }],
  ["digits", "docs/tensor-cores.html", "guess=257", async (page) => {
    await page.until(`document.querySelector("#explore-digits button")`);
    await page.value(`document.querySelector("#explore-digits button").click()`);
    await page.until(`document.querySelector("#explore-digits table.bits")`);
  }],
];

async function main(site, options) {
  const server = await serve(site);
  const browser = await Browser.start(options.browser);
  const page = await browser.page();
  const axe = fs.readFileSync(options.axe, "utf8");
  const failures = [];
  let looks = 0;

  /** What axe finds on the page, or in a part of it. */
  async function look(name, part) {
    await new Promise((resolve) => setTimeout(resolve, 300)); // the theme and the page's own script have seen its size
    await page.value(axe);
    const found = await page.value(`axe.run(${part ? JSON.stringify(part) : "document"}, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, impact, nodes }) =>
        impact + " " + id + ", " + nodes.length + " times: " + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + " " + failureSummary.split("\\n")[1]).join(" | ")))`);
    ++looks;
    for (const each of [...found, ...page.problems.splice(0).map((problem) => `console: ${problem}`)]) {
      failures.push(name);
      console.log(`FAILED ${name}: ${each}`);
    }
  }

  for (const dark of [false, true]) {
    for (const tree of ["", "zh/"]) {
      const of = (what, width) => `${what}-${tree ? "zh" : "en"}-${width}-${dark ? "dark" : "light"}`;
      for (const [where, picture] of options.short ? KINDS.slice(0, 4) : KINDS) {
        if (options.only.length && !options.only.includes(picture)) continue;
        if (!fs.existsSync(path.join(site, tree, where))) continue; // some are in one language alone
        await page.open(`${server.root}/${tree}${where}`, { dark });
        await look(`${tree}${where} ${dark ? "dark" : "light"}`);
        if (!picture || !options.pictures) continue;
        await page.value("scrollTo(0, 0)");
        await page.picture(path.join(options.pictures, `${of(picture, 1280)}.png`));
        await page.open(`${server.root}/${tree}${where}`, { dark, width: 380, height: 800 });
        await page.picture(path.join(options.pictures, `${of(picture, 380)}.png`));
      }
      for (const [name, where, state, use] of options.short ? [] : USED) {
        if (options.only.length && !options.only.includes(name)) continue;
        for (const width of [1280, 380]) {
          try {
            await page.open(`${server.root}/${tree}${where}${state && `#explore-${name}?${state}`}`, { width, dark });
            await use(page);
          } catch (problem) {
            failures.push(name);
            console.log(`FAILED ${of(name, width)}: ${problem.message}`);
            continue;
          }
          await look(of(name, width), `#explore-${name}`);
          const beyond = await page.value("document.documentElement.scrollWidth - innerWidth");
          if (beyond > 0) failures.push(name), console.log(`FAILED ${of(name, width)}: the page is ${beyond} pixels wider than the screen`);
          if (options.pictures) await page.picture(path.join(options.pictures, `${of(name, width)}.png`), `#explore-${name}`);
        }
      }
    }
  }
  browser.end();
  server.close();
  server.closeAllConnections?.();
  console.log(`${looks} looks at pages, ${failures.length} findings`);
  return failures.length || !looks ? 1 : 0;
}

const pictures = option("--pictures", "");
if (pictures) fs.mkdirSync(pictures, { recursive: true });
main(process.argv[2], { browser: option("--browser", "chromium"), axe: option("--axe", ""), pictures, short: process.argv.includes("--short"), only: option("--only", "").split(",").filter(Boolean) })
  .then((code) => process.exit(code))
  .catch((problem) => {
    console.error(problem);
    process.exit(1);
  });
