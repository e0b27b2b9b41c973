// Bank lab: how a warp's addresses fall on the 32 banks. The reader drags the layout, predicts the wavefronts, and steps
// through them. Wavefronts, and what each serves, are the simulator's own; so is the swizzle, of which
// tools/site/simulator.py writes a table (explorables.swizzles).
"use strict";

explorables.define("banks", (place, from) => {
  const { say, element, choice, slider, ranges, bankCells, lanesByWord, keep, Simulator } = explorables;
  const WORD = 4; // bytes of a bank's word
  const BYTES = [4, 8, 16];
  const ACROSS = [1, 2, 4, 8, 16, 32];
  const MOST_PITCH = 128;
  const BITS = explorables.swizzles.map((_, bits) => bits);
  const CHUNK = 16; // bytes that the swizzle keeps together

  const oneOf = (values, text, otherwise) => (text !== undefined && values.includes(Number(text)) ? Number(text) : otherwise);
  const bytes = oneOf(BYTES, from.bytes, 4);
  const whole = (text) => (/^\d{1,3}$/.test(text || "") ? Number(text) : 0);
  const chosen = {
    bytes,
    across: oneOf(ACROSS, from.across, 1),
    pitch: aligned(whole(from.pitch) || 32, bytes),
    xor: oneOf(BITS, from.xor, 0),
    store: from.store === "yes" ? "yes" : "no",
    guess: from.guess || "",
    pass: "", // the wavefront that is shown, from 1 on, once the prediction has been checked
  };
  let simulator = null;
  let found = null; // what the simulator has answered to what is chosen
  let held = null; // a row of lanes that is being dragged

  const layout = element("div", { class: "sliders" });
  const note = element("p", {});
  const guess = element("input", { type: "text", inputmode: "numeric", size: 4, value: chosen.guess, onkeydown: (event) => event.key === "Enter" && check() });
  const status = element("p", { role: "status", "aria-live": "polite" });
  const steps = element("div", {});
  const grid = element("div", {
    class: "bank-grid",
    role: "img",
    "aria-label": say("a row is 32 words, one in each bank; the numbers are lanes", "一行是 32 个字，每个 bank 一个；数字是 lane"),
    onpointerdown: hold,
    onpointermove: drag,
    onpointerup: release,
    onpointercancel: release,
  });

  /** The words from row to row that are possible: each lane's bytes have to be aligned. */
  function aligned(pitch, of) {
    const words = of / WORD;
    return Math.min(MOST_PITCH, Math.max(1, Math.ceil(pitch / words)) * words);
  }
  const pitches = () => Array.from({ length: (MOST_PITCH * WORD) / chosen.bytes }, (_, i) => ((i + 1) * chosen.bytes) / WORD);
  const rowOf = (lane) => Math.floor(lane / chosen.across);

  function addresses() {
    const swizzle = explorables.swizzles[chosen.xor]; // places of chunks by row and chunk, from where on it repeats
    return Array.from({ length: 32 }, (_, lane) => {
      const within = (lane % chosen.across) * chosen.bytes;
      const places = swizzle[rowOf(lane) % swizzle.length];
      const chunk = Math.floor(within / CHUNK) % places.length;
      return rowOf(lane) * chosen.pitch * WORD + within + (places[chunk] - chunk) * CHUNK;
    });
  }

  // --- the layout, which the reader drags ---

  function changed() {
    found = null;
    chosen.pass = "";
    keep("banks", chosen);
    status.textContent = say("Predict, then check.", "先预测，再检查。");
    delete place.dataset.wavefronts;
    draw();
  }

  const pitchSlider = () =>
    slider(say("From row to row", "行距"), pitches(), chosen.pitch, (words) => say(`${words} word${words > 1 ? "s" : ""}`, `${words} 个字`), (words) => {
      chosen.pitch = words;
      changed();
    });

  function build() {
    const set = (key) => (value) => {
      chosen[key] = value;
      changed();
    };
    const pitch = element("div", { class: "pitch" }, pitchSlider());
    layout.replaceChildren(
      slider(say("Each lane takes", "每个 lane 取"), BYTES, chosen.bytes, (each) => say(`${each} bytes`, `${each} 字节`), (each) => {
        chosen.bytes = each;
        chosen.pitch = aligned(chosen.pitch, each);
        pitch.replaceChildren(pitchSlider());
        changed();
      }),
      slider(say("Lanes lie in", "lane 排成"), ACROSS, chosen.across, (each) => say(`${32 / each} row${each < 32 ? "s" : ""} of ${each}`, `${32 / each} 行 × ${each} 列`), set("across")),
      pitch,
      slider(say("XOR with the row", "与行号异或"), BITS, chosen.xor, (bits) => (bits ? say(`its last ${bits > 1 ? `${bits} bits` : "bit"}`, `末 ${bits} 位`) : say("none", "不异或")), set("xor")),
    );
  }

  /** What the layout means, and what is odd about it. */
  function notes() {
    const row = chosen.pitch * WORD;
    const parts = [];
    if (chosen.xor) parts.push(say(`Chunk c (16 bytes) of row r lies at place c XOR (r mod ${2 ** chosen.xor}).`, `行 r 的第 c 个 chunk（16 字节）放在 c XOR (r mod ${2 ** chosen.xor}) 处。`));
    if (chosen.across < 32 && row < chosen.across * chosen.bytes) parts.push(say("The rows overlap: each is longer than the distance to the next.", "各行互相重叠：一行比行距还长。"));
    else if (chosen.xor && row < CHUNK << chosen.xor) parts.push(say("A row has fewer chunks than the XOR exchanges: some move into other rows.", "一行的 chunk 比异或交换的还少：有些 chunk 落进了别的行。"));
    return parts.join(" ");
  }

  /** A row that is dragged sideways takes the rows above with it, each by its share. */
  function hold(event) {
    const lane = Number(event.target.dataset.lane ?? 0);
    if (!rowOf(lane)) return;
    held = { row: rowOf(lane), from: event.clientX, pitch: chosen.pitch, bank: grid.getBoundingClientRect().width / 32 };
    grid.setPointerCapture(event.pointerId);
  }

  function drag(event) {
    if (!held) return;
    const moved = (event.clientX - held.from) / held.bank / held.row;
    const words = aligned(Math.round(held.pitch + moved), chosen.bytes);
    if (words === chosen.pitch) return;
    chosen.pitch = words;
    layout.querySelector(".pitch").replaceChildren(pitchSlider());
    changed();
  }

  function release() {
    held = null;
  }

  // --- what the simulator answers, wavefront by wavefront ---

  function draw() {
    note.textContent = notes();
    const now = found && Number(chosen.pass) - 1;
    const served = new Map(); // the wavefronts that serve a word: each group takes its own
    found?.passes.forEach((pass, i) => pass.words.forEach(({ word }) => served.set(word, [...(served.get(word) || []), i])));
    const kind = (word) => {
      if (!found) return "used";
      if (served.get(word).includes(now)) return "now";
      return served.get(word).some((pass) => pass > now) ? "used" : "served";
    };
    const words = lanesByWord(addresses(), chosen.bytes);
    for (const { word, lanes } of found ? found.passes[now].words : []) words.set(word, lanes);
    grid.replaceChildren(...bankCells(words, kind));
    for (const cell of grid.children) cell.classList.toggle("movable", rowOf(Number(cell.dataset.lane ?? 0)) > 0);
    if (!found) steps.replaceChildren();
  }

  const lanes = ([first, last]) => (first === last ? say(`lane ${first}`, `lane ${first}`) : say(`lanes ${first}–${last}`, `lane ${first}–${last}`));
  const several = (word, numbers) => `${word}${numbers.length > 1 && !explorables.chinese ? "s" : ""} ${ranges(numbers)}`;

  function sentence() {
    const { group, words } = found.passes[Number(chosen.pass) - 1];
    const ordered = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
    const served = several("lane", ordered(words.flatMap((each) => each.lanes)));
    const banks = several("bank", ordered(words.map(({ bank }) => bank)));
    const of = lanes(found.groups[group]);
    const which = say(`Wavefront ${chosen.pass} of ${found.wavefronts}, for ${of}: `, `第 ${chosen.pass} 个 wavefront，共 ${found.wavefronts} 个，属于 ${of}：`);
    return which + (chosen.store === "yes" ? say(`${banks} take${/\D/.test(banks.slice(5)) ? "" : "s"} the words of ${served}.`, `${banks} 写入 ${served} 的字。`) : say(`${served} get${/\D/.test(served.slice(5)) ? "" : "s"} words from ${banks}.`, `${served} 从 ${banks} 取到字。`));
  }

  /** The control by which the reader steps, and what each wavefront does. */
  function buildSteps() {
    const count = found.wavefronts;
    const said = element("p", { class: "pass", role: "status", "aria-live": "polite" });
    const groups = found.groups.map(([first, last, many]) => element("li", {}, say(`${lanes([first, last])}: wavefronts ${many}`, `${lanes([first, last])}：${many} 个 wavefront`)));
    const room = element("div", { class: "controls" });
    const back = element("button", { type: "button", onclick: () => go(Number(chosen.pass) - 1) }, say("back", "后退"));
    const next = element("button", { type: "button", onclick: () => go(Number(chosen.pass) + 1) }, say("next wavefront", "下一个 wavefront"));
    function show() {
      keep("banks", chosen);
      back.disabled = Number(chosen.pass) === 1;
      next.disabled = Number(chosen.pass) === count;
      said.textContent = sentence();
      groups.forEach((each, i) => each.classList.toggle("here", i === found.passes[Number(chosen.pass) - 1].group));
      place.dataset.pass = chosen.pass;
      draw();
    }
    function go(pass) {
      chosen.pass = String(pass);
      if (count > 1) room.replaceChildren(back, stepper(), next);
      show();
    }
    const stepper = () =>
      slider(say("Step through", "逐个看"), Array.from({ length: count }, (_, i) => i + 1), Number(chosen.pass), (pass) => say(`${pass} of ${count}`, `${pass} / ${count}`), (pass) => {
        chosen.pass = String(pass);
        show();
      });
    steps.replaceChildren(
      element("ul", {}, groups),
      room,
      said,
      element("p", { class: "ring-legend" }, [["now", say("served now", "正在处理")], ["used", say("still to come", "尚未轮到")], ["served", say("served before", "已经处理")]].map(([kind, words]) => element("span", { class: "bank-key" }, element("i", { class: kind }), words))),
    );
    go(Number(chosen.pass));
  }

  async function check(pass = 1) {
    if (!/^\d+$/.test(guess.value.trim())) {
      status.textContent = say("Write a whole number first: how many wavefronts?", "请先写一个整数：几个 wavefront？");
      guess.focus();
      return;
    }
    Object.assign(chosen, { guess: guess.value.trim(), pass: String(pass) });
    keep("banks", chosen);
    status.textContent = say("Loading the simulator …", "正在加载模拟器……");
    try {
      simulator ||= await Simulator.start();
      const asked = { do: "wavefronts", bytes: chosen.bytes, store: chosen.store === "yes", addresses: addresses() };
      const answer = await simulator.ask(asked);
      if (JSON.stringify(asked.addresses) !== JSON.stringify(addresses())) return; // dragged on in the meantime
      found = answer;
      const right = Number(chosen.guess) === answer.wavefronts;
      status.textContent =
        say(`Wavefronts: ${answer.wavefronts}. You predicted ${chosen.guess}`, `wavefront 数：${answer.wavefronts}。你预测的是 ${chosen.guess}`) +
        (right ? say(": right.", "，正确。") : say(".", "。")) +
        (answer.conflicts ? say(` More than without conflicts by ${answer.conflicts}.`, `比没有冲突时多 ${answer.conflicts} 个。`) : say(" No conflict.", "没有冲突。"));
      chosen.pass = String(Math.min(pass, answer.wavefronts));
      buildSteps();
      place.dataset.wavefronts = answer.wavefronts;
    } catch (problem) {
      status.textContent = problem.message;
    }
  }

  place.append(
    element("h2", {}, say("Bank lab", "bank 实验台")),
    element("p", {}, say("A warp accesses a tile in shared memory. Drag its layout: the sliders, or the lanes in the picture, sideways. How many wavefronts does the access take?", "一个 warp 访问共享内存里的一个分块。拖动滑块，或者把图中的 lane 左右拖动，就能改变布局。这次访问要几个 wavefront？")),
    layout,
    note,
    element(
      "div",
      { class: "controls" },
      choice(say("It is a", "这是一次"), [["no", "load"], ["yes", "store"]], chosen.store, (value) => {
        chosen.store = value;
        changed();
      }),
      element("label", {}, say("Your prediction ", "你的预测 "), guess),
      element("button", { type: "button", class: "check", onclick: () => check() }, say("Check", "检查")),
    ),
    status,
    steps,
    grid,
    element("p", {}, say("Each column is a bank, each row 128 bytes; a number is the first lane that touches the word. Rows that no lane touches are left out. In which order a bank serves its words is not known; here it is that of the lanes.", "每列是一个 bank，每行 128 字节；数字是访问该字的第一个 lane。没有 lane 访问的行不画出。bank 按什么次序处理各个字并不清楚，这里按 lane 的次序。")),
  );
  build();
  draw();
  if (whole(from.pass) && chosen.guess) check(whole(from.pass));
});
