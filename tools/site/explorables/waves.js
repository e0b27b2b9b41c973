// Tile and wave: how the tiles of C fall on the multiprocessors, and which tile step 27's launcher takes for it. Counts and
// estimates are the course's own functions (tools/site/wasm/course.cpp).
"use strict";

explorables.define("waves", (place, from) => {
  const { say, element, choice, number, keep, grouped, Simulator } = explorables;
  const model = place.dataset.model === "yes";
  const TILES = [[32, 32], [64, 64], [128, 64], [128, 128], [128, 256], [256, 192], [256, 256]];
  const taken = (key, least, most, otherwise) => {
    const value = Number(from[key]);
    return Number.isInteger(value) && value >= least && value <= most ? value : otherwise;
  };
  const chosen = {
    m: taken("m", 1, 65536, 4096),
    n: taken("n", 1, 65536, 4096),
    k: taken("k", 1, 65536, 4096),
    tile: TILES.some(([bm, bn]) => `${bm}x${bn}` === from.tile) ? from.tile : "128x256",
    sms: taken("sms", 1, 1024, 132),
    resident: taken("resident", 1, 32, 1),
    bytes: [1, 2, 4].includes(Number(from.bytes)) ? Number(from.bytes) : 2,
    guess: from.guess || "",
    way: explorables.tiles27.some(({ name }) => name === from.way) ? from.way : "",
  };
  let simulator = null;
  const controls = element("div", { class: "controls" });
  const guess = element("input", { type: "text", inputmode: "decimal", size: 5, value: chosen.guess, onkeydown: (event) => event.key === "Enter" && check() });
  const status = element("p", { role: "status", "aria-live": "polite" });
  const shown = element("div", {});

  async function found() {
    const [bm, bn] = chosen.tile.split("x").map(Number);
    const places = chosen.sms * chosen.resident;
    simulator ||= await Simulator.start();
    const of = await simulator.call("waves", { of: { m: chosen.m, n: chosen.n, k: chosen.k, bm, bn, atOnce: places, ways: explorables.tiles27 } });
    const last = of.tiles - (of.waves - 1) * places;
    // Of the tiles that could be computed in these waves, those that are not; what lies beyond C's edge is computed, too.
    const idle = 1 - of.tiles / (of.waves * places);
    const beyond = Math.max(0, 1 - of.used / (1 - idle));
    const perFlop = (chosen.bytes * (bm + bn)) / (2 * bm * bn);
    return { ...of, places, last, idle, beyond, perFlop };
  }

  function changed() {
    keep("waves", chosen);
    status.textContent = say("Predict, then check.", "先预测，再检查。");
    shown.replaceChildren();
    delete place.dataset.waves;
  }

  async function check() {
    const value = Number(guess.value);
    if (!guess.value.trim() || !Number.isFinite(value)) {
      status.textContent = say("Write a number first: what share of the time is lost, in percent?", "请先写一个数：损失百分之几的时间？");
      guess.focus();
      return;
    }
    chosen.guess = guess.value.trim();
    keep("waves", chosen);
    if (model && !chosen.way) {
      status.textContent = say("Choose the tile that you expect first.", "请先选出你预计的分块。");
      return;
    }
    status.textContent = say("Loading the simulator …", "正在加载模拟器……");
    let of = null;
    try {
      of = await found();
    } catch (problem) {
      status.textContent = problem.message;
      return;
    }
    const percent = (share) => `${(100 * share).toFixed(1)}` + say(" %", "%");
    status.textContent = say(`Places without a tile: ${percent(of.idle)}. You predicted ${chosen.guess} %.`, `空闲位置：${percent(of.idle)}。你预测的是 ${chosen.guess}%。`);
    const rows = [
      [say("tiles of C", "C 的 tile 数"), grouped(of.tiles)],
      [say("blocks at the same time", "同时运行的线程块"), grouped(of.places)],
      [say("waves", "wave 数"), grouped(of.waves)],
      [say("tiles in the last wave", "最后一个 wave 里的 tile"), grouped(of.last)],
      [say("places without a tile, of all waves", "各 wave 合计的空闲位置"), percent(of.idle)],
      [say("work beyond the edge of C", "落在 C 边界之外的计算"), percent(of.beyond)],
      [say("bytes loaded per FLOP", "每 FLOP 装载的字节"), of.perFlop.toFixed(4)],
    ];
    const cells = Math.min(of.places, 1024);
    shown.replaceChildren(
      element("table", { class: "counts" }, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value))))),
      element("p", {}, say("The last wave, a cell for each block that could run:", "最后一个 wave，每格是一个可以运行的线程块：")),
      element(
        "div",
        { class: "wave", role: "img", "aria-label": say(`${of.last} of ${of.places} places have a tile`, `${of.places} 个位置中 ${of.last} 个有 tile`) },
        Array.from({ length: cells }, (_, i) => element("span", { class: i < of.last ? "used" : "" })),
      ),
    );
    if (model) shown.append(...estimates(of));
    place.dataset.waves = of.waves;
  }

  /** Step 27's estimate for each of its tiles, in slices of its first. */
  function estimates({ times, cheapest }) {
    const taken = explorables.tiles27[cheapest].name;
    place.dataset.taken = taken;
    const right = taken === chosen.way ? say("as you predicted", "与你的预测一致") : say(`you predicted ${chosen.way}`, `你预测的是 ${chosen.way}`);
    return [
      element("p", {}, say(`Step 27's launcher takes ${taken}, ${right}. Its estimates, in slices of the first tile:`, `步骤 27 的启动函数选 ${taken}，${right}。它的估计，以第一种分块的一片为单位：`)),
      element(
        "table",
        { class: "counts" },
        element("tbody", {}, explorables.tiles27.map(({ name, bm, bn }, i) => element("tr", { class: i === cheapest ? "here" : "" }, element("th", { scope: "row" }, `${name} ${bm}×${bn}`), element("td", {}, times[i].toFixed(1))))),
      ),
    ];
  }

  const set = (key, convert = Number) => (value) => {
    chosen[key] = convert(value);
    changed();
  };
  controls.append(
    number("M", chosen.m, 1, 65536, set("m")),
    number("N", chosen.n, 1, 65536, set("n")),
    model ? number("K", chosen.k, 1, 65536, set("k")) : "",
    choice(say("Tile", "tile"), TILES.map(([bm, bn]) => [`${bm}x${bn}`, `${bm}×${bn}`]), chosen.tile, set("tile", String)),
    number(say("Multiprocessors", "SM 数"), chosen.sms, 1, 1024, set("sms")),
    number(say("Blocks on each", "每个 SM 的线程块"), chosen.resident, 1, 32, set("resident")),
    choice(say("Bytes of an element", "元素字节数"), [4, 2, 1].map((bytes) => [bytes, bytes]), chosen.bytes, set("bytes")),
  );
  const ways = [["", "…"], ...explorables.tiles27.map(({ name, bm, bn }) => [name, `${name} ${bm}×${bn}`])];
  const expected = model ? choice(say("Step 27 will take", "步骤 27 会选"), ways, chosen.way, set("way", String)) : "";
  place.append(
    element("h2", {}, say("Tile and wave", "tile 与 wave")),
    element("p", {}, say("Blocks are dealt out in waves. What share of the places stays without a tile, in percent?", "线程块一个 wave 一个 wave 地分发。百分之几的位置没有分到 tile？")),
    controls,
    element("div", { class: "controls" }, element("label", {}, say("Your prediction ", "你的预测 "), guess), expected, element("button", { type: "button", onclick: check }, say("Check", "检查"))),
    status,
    shown,
  );
});
