// Where does this element go? An element of A or B on its way to C, and back from C, a lane or a bank. All places are the
// simulator's: it runs a cluster twice, the second time with another value in the element, and tells what differs.
"use strict";

explorables.define("follow", (place, from) => {
  const { say, element, choice, number, grouped, ranges, keep, Simulator, recorded, run } = explorables;
  const { step, variant } = place.dataset;
  const chosen = { of: from.of === "B" ? "B" : "A", row: Number(from.row) || 0, col: Number(from.col) || 0, guess: from.guess || "", back: from.back || "", count: from.count || "" };
  let kernel = null;
  let simulator = null;
  let found = null; // the way of the element that is shown
  let looked = ""; // at which moment of which cluster origins are known
  let busy = false;

  const picture = element("div", { class: "matrices" });
  const controls = element("div", { class: "controls" });
  const asking = (value, then) => element("input", { type: "text", inputmode: "numeric", size: 4, value, onkeydown: (event) => event.key === "Enter" && then() });
  const guess = asking(chosen.guess, () => follow());
  const count = asking(chosen.count, () => answerBack());
  const go = element("button", { type: "button", onclick: () => follow() }, say("Predict and follow", "先预测，再跟踪"));
  const status = element("p", { class: "status", role: "status", "aria-live": "polite" });
  const way = element("ol", { class: "way" });
  const back = element("div", { class: "back" });
  const answer = element("p", { class: "answer", role: "status", "aria-live": "polite" });

  place.append(
    element("h2", {}, say("Where does this element go?", "这个元素去了哪里？")),
    element(
      "p",
      {},
      say(
        "Choose an element of A or B. The simulator runs the kernel twice in this tab, the second time with another value in that element: what differs came from it. A tab has no CUDA compiler, so the kernel was compiled beforehand.",
        "选 A 或 B 的一个元素。模拟器在这个标签页里把 kernel 运行两遍，第二遍给这个元素另一个值：不同之处就来自它。标签页里没有 CUDA 编译器，kernel 是事先编译好的。",
      ),
    ),
    picture,
    controls,
    element(
      "div",
      { class: "controls" },
      element("label", {}, say("In which bank of shared memory will it lie? (0–31) ", "它会落在共享内存的哪个 bank？（0–31）"), guess),
      go,
    ),
    status,
    way,
    back,
  );

  // --- sizes, as the launch has them ---

  const size = () => kernel.runs[0];
  const shape = (of) => ({ A: [size().m, size().k], B: [size().k, size().n], C: [size().m, size().n] })[of];
  const number_of = { A: 0, B: 1, C: 2 }; // as the kernel's parameters name the arrays
  const pointers = () => [...new Map(size().launches.at(-1).pointers.map(([, array]) => [array, array])).keys()];
  const bytes = (of) => size().allocations[pointers()[number_of[of]]] / shape(of)[0] / shape(of)[1];
  const offset = (of, row, col) => (row * shape(of)[1] + col) * bytes(of);
  const array = (of) => ({ array: number_of[of], bytes: bytes(of), rows: shape(of)[0], cols: shape(of)[1], pitch: shape(of)[1] * bytes(of) });

  const remember = () => keep("follow", chosen);
  const within = (value, most) => Math.min(most - 1, Math.max(0, value));

  // --- the matrices ---

  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) key.startsWith("on") ? made.addEventListener(key.slice(2), value) : made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const PLACES = { A: [0, 90, 80, 120], B: [90, 0, 230, 80], C: [90, 90, 230, 120] }; // x, y, width, height

  /** A, B and C as a product is drawn, not to scale; `fed`: elements of C by row. */
  function draw() {
    const shapes = [];
    const names = [];
    const part = (of, [row, rows], [col, cols], name) => {
      const [x, y, width, height] = PLACES[of];
      const [high, wide] = shape(of);
      const w = Math.max(4, (cols / wide) * width);
      const h = Math.max(4, (rows / high) * height);
      const left = Math.min(x + width - w, x + (col / wide) * width);
      const top = Math.min(y + height - h, y + (row / high) * height);
      return svg("rect", { class: name, x: left, y: top, width: w, height: h });
    };
    for (const [of, [x, y, width, height]] of Object.entries(PLACES)) {
      const [rows, cols] = shape(of);
      shapes.push(svg("rect", { class: `matrix ${of}`, x, y, width, height, onclick: (event) => pick(of, event) }));
      names.push(svg("text", { x: x + 4, y: y + 14 }, `${of} ${rows}×${cols}`));
    }
    for (const [row, cols] of fedRows()) shapes.push(part("C", [row, 1], [cols[0], cols.at(-1) - cols[0] + 1], "fed"));
    shapes.push(part(chosen.of, [chosen.row, 1], [chosen.col, 1], "chosen"));
    const [kind, row, col] = chosen.back.split(":");
    if (kind === "c") shapes.push(part("C", [Number(row), 1], [Number(col), 1], "asked"));
    picture.replaceChildren(
      svg("svg", { viewBox: "-1 -1 322 212", role: "img", "aria-label": say("A, B and C, not to scale: a click on A or B chooses an element to follow, one on C asks where an element came from", "A、B、C，不按比例：点 A 或 B 选择要跟踪的元素，点 C 询问某个元素从哪里来") }, ...shapes, ...names),
    );
  }

  function pick(of, event) {
    const box = event.target.getBoundingClientRect();
    const [rows, cols] = shape(of);
    const row = within(Math.floor(((event.clientY - box.top) / box.height) * rows), rows);
    const col = within(Math.floor(((event.clientX - box.left) / box.width) * cols), cols);
    of === "C" ? askBack(`c:${row}:${col}`) : choose({ of, row, col });
  }

  function choose(what) {
    Object.assign(chosen, what);
    const [rows, cols] = shape(chosen.of);
    chosen.row = within(chosen.row, rows);
    chosen.col = within(chosen.col, cols);
    chosen.back = chosen.count = count.value = "";
    found = null;
    way.replaceChildren();
    back.replaceChildren();
    delete place.dataset.followed;
    delete place.dataset.back;
    status.textContent = say("Predict its bank, then follow it.", "先预测它的 bank，再跟踪。");
    remember();
    build();
    draw();
  }

  function build() {
    const [rows, cols] = shape(chosen.of);
    const names = chosen.of === "A" ? [say("row i", "行 i"), say("column k", "列 k")] : [say("row k", "行 k"), say("column j", "列 j")];
    controls.replaceChildren(
      choice(say("Element of", "元素属于"), [["A", "A"], ["B", "B"]], chosen.of, (of) => choose({ of })),
      number(names[0], chosen.row, 0, rows - 1, (row) => choose({ row })),
      number(names[1], chosen.col, 0, cols - 1, (col) => choose({ col })),
    );
  }

  /** The elements of C that the element feeds: columns by row. */
  function fedRows() {
    const rows = new Map();
    for (const feed of found?.feeds || []) {
      if (feed.allocation !== number_of.C) continue;
      const width = bytes("C");
      for (let each = Math.floor(feed.offset / width); each * width < feed.offset + feed.bytes; ++each) {
        const row = Math.floor(each / shape("C")[1]);
        const col = each % shape("C")[1];
        const cols = rows.get(row) || rows.set(row, []).get(row);
        if (cols.at(-1) !== col) cols.push(col);
      }
    }
    return rows;
  }

  // --- forward ---

  async function opened() {
    if (!simulator) {
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      simulator = await Simulator.start();
      await simulator.call("open", { recorded: run(kernel, 0), options: {} });
      await simulator.call("begin", { launch: size().launches.length - 1 });
    }
    return simulator;
  }

  async function follow() {
    if (busy || !kernel) return;
    const bank = guess.value.trim();
    if (!/^\d+$/.test(bank) || Number(bank) > 31) {
      status.textContent = say("Write a bank first, from 0 to 31: a guess is enough.", "请先写一个 bank，0 到 31：猜一个就行。");
      guess.focus();
      return;
    }
    chosen.guess = bank;
    remember();
    busy = go.disabled = true;
    found = null;
    try {
      const of = await opened();
      status.textContent = say("Following it …", "正在跟踪……");
      found = await of.ask({ do: "follow", array: number_of[chosen.of], offset: offset(chosen.of, chosen.row, chosen.col), bytes: bytes(chosen.of) });
      looked = "";
      show();
    } catch (problem) {
      status.textContent = problem.message;
    } finally {
      busy = go.disabled = false;
    }
    if (found && chosen.back && chosen.count) await answerBack();
  }

  const named = () => `${chosen.of}[${chosen.row}][${chosen.col}]`;
  /** An English word for one or more; the Chinese text keeps the word as it is. */
  const several = (word, many) => (many > 1 && !explorables.chinese ? `${word}s` : word);
  const hex = (value) => `0x${value.toString(16)}`;

  /** Marks of one kind by one opcode are one stage of the way. */
  function stages() {
    const all = new Map();
    for (const mark of found.marks) {
      const site = found.sites[mark.site];
      const key = [mark.kind, mark.sum, mark.access?.memory, site?.instruction].join();
      const stage = all.get(key) || all.set(key, { marks: [], opcode: site?.instruction || "", lines: new Set() }).get(key);
      stage.marks.push(mark);
      if (site) stage.lines.add(site.line);
    }
    return [...all.values()];
  }

  function show() {
    const landed = found.marks.find(({ kind }) => kind === "shared");
    const rows = [...fedRows()];
    const fed = rows.reduce((sum, [, cols]) => sum + cols.length, 0);
    const right = landed && landed.bank === Number(chosen.guess);
    status.textContent = landed
      ? say(`${named()} lies in bank ${landed.bank}. You predicted ${chosen.guess}${right ? ": right." : "."}`, `${named()} 落在 bank ${landed.bank}。你预测的是 ${chosen.guess}${right ? "，正确。" : "。"}`)
      : say(`${named()} does not come to shared memory.`, `${named()} 没有进入共享内存。`);
    if (found.diverged) status.textContent += say(" A branch depends on it: what comes after is not known.", " 有分支取决于它：之后的去向无从知道。");
    way.replaceChildren(first(), ...stages().map(stageOf), last(rows, fed));
    place.followed = found;
    place.dataset.followed = fed;
    draw();
    const asked = chosen.back;
    if (asked) askBack(asked, true);
    else back.replaceChildren(element("p", {}, say("And back: choose a lane, a bank, or an element of C.", "反过来：选一个 lane、一个 bank，或 C 的一个元素。")), backFromC());
  }

  function first() {
    const { offset: at, sector, bytes: width } = found.element;
    const blocks = size().launches.at(-1).grid.reduce((all, each) => all * each, 1);
    return element(
      "li",
      {},
      element("strong", {}, say("Global memory", "全局内存")),
      element("p", {}, say(`${named()}: byte ${grouped(at)} of ${chosen.of}, ${width} bytes wide, in sector ${sector} (bytes ${at % 32} to ${(at % 32) + width - 1} of its 32).`, `${named()}：${chosen.of} 的第 ${grouped(at)} 字节，宽 ${width} 字节，在第 ${sector} 个扇区（其 32 字节中的第 ${at % 32} 到 ${(at % 32) + width - 1} 字节）。`)),
      element("p", {}, say(`Blocks that use it: ${found.clusters.length} of ${blocks}. What follows is of block (${found.blocks[0].join(", ")}).`, `${blocks} 个线程块中有 ${found.clusters.length} 个用到它。下面看线程块（${found.blocks[0].join(", ")}）。`)),
    );
  }

  function stageOf({ marks, opcode, lines }) {
    const { kind, sum, access, box } = marks[0];
    const titles = {
      registers: sum ? say("Sums", "累加") : access?.memory === "global" ? say("Loaded from global memory", "从全局内存读入") : access ? say("Loaded from shared memory", "从共享内存读入") : say("Copied or converted", "复制或转换"),
      shared: say("Shared memory", "共享内存"),
      operand: say("Operand of a product", "乘法的操作数"),
      global: say("Stored", "写出"),
    };
    return element(
      "li",
      {},
      element("strong", {}, titles[kind]),
      element("p", {}, element("code", {}, opcode), say(` ${several("line", lines.size)} ${ranges([...lines].sort((a, b) => a - b))}`, ` 第 ${ranges([...lines].sort((a, b) => a - b))} 行`), costOf(access)),
      kind === "shared" ? sharedParts(marks, box) : null,
      kind === "registers" ? registerParts(marks) : null,
      kind === "operand" ? operandParts(marks) : null,
      kind === "global" ? element("p", {}, byWarp(marks)) : null,
    );
  }

  const costOf = (access) =>
    !access
      ? ""
      : access.memory === "shared"
        ? say(`; wavefronts: ${access.wavefronts}`, `；wavefront 数：${access.wavefronts}`)
        : say(`; sectors: ${access.sectors}`, `；扇区数：${access.sectors}`);

  /** "warp 0: lane 3; warp 1: lanes 0–3". */
  function byWarp(marks) {
    const warps = new Map();
    for (const { warp, lanes } of marks) {
      const all = warps.get(warp) || warps.set(warp, new Set()).get(warp);
      for (const lane of lanes || []) all.add(lane);
    }
    const by = new Map(); // warps with the same lanes are told together
    for (const [warp, lanes] of [...warps].sort((a, b) => a[0] - b[0])) {
      const text = ranges([...lanes].sort((a, b) => a - b));
      by.set(text, [...(by.get(text) || []), warp]);
    }
    return [...by].map(([lanes, all]) => `${several("warp", all.length)} ${ranges(all)}` + (lanes ? `: ${several("lane", /\D/.test(lanes) + 1)} ${lanes}` : "")).join("; ");
  }

  function sharedParts(marks, box) {
    const { shared, bank, access, issued } = marks[0];
    const variable = found.shared_variables.find(({ offset: at, bytes: length }) => shared >= at && shared < at + length);
    const base = variable ? variable.offset : 0;
    const parts = [
      element("p", {}, say(`Byte ${hex(shared)}, that is ${grouped(shared - base)} of ${variable?.name || "shared memory"}: bank ${bank}. ${byWarp(marks)}.`, `字节 ${hex(shared)}，即 ${variable?.name || "共享内存"} 的第 ${grouped(shared - base)} 字节：bank ${bank}。${byWarp(marks)}。`)),
    ];
    if (box) {
      const inBox = shared - box.shared;
      parts.push(element("p", {}, say(`TMA copies a box of ${box.size.join("×")} elements from (${box.start.join(", ")}), swizzled in ${box.swizzle} bytes. In its row ${Math.floor(inBox / 128)} of 128 bytes the element lies in chunk ${Math.floor((inBox % 128) / 16)} of 16 bytes.`, `TMA 拷贝一个 ${box.size.join("×")} 的 box，从 (${box.start.join(", ")}) 开始，swizzle ${box.swizzle} 字节。元素在其第 ${Math.floor(inBox / 128)} 个 128 字节行的第 ${Math.floor((inBox % 128) / 16)} 个 16 字节块里。`)));
    }
    if (issued !== undefined) parts.push(element("p", {}, say(`The copy was asked for at step ${grouped(issued)} and has landed at step ${grouped(marks[0].step)}.`, `拷贝在第 ${grouped(issued)} 步发出，在第 ${grouped(marks[0].step)} 步落地。`)));
    const row = Math.floor(shared / 128) * 128;
    parts.push(
      cells(
        say(`Banks of the 128 bytes from ${hex(row)}; press one to ask what lies there:`, `从 ${hex(row)} 起 128 字节的各个 bank，点一个可问那里是什么：`),
        (each) => each === bank,
        (each) => `shared:${row + 4 * each}:${marks[0].step + 1}`,
        "bank",
      ),
    );
    return parts;
  }

  function registerParts(marks) {
    const mark = marks[0];
    const names = [...new Set(marks.filter(({ warp }) => warp === mark.warp).map(({ register }) => register))];
    const shown = names.slice(0, 8).join(", ") + (names.length > 8 ? " …" : "");
    const by = mark.access?.by || [];
    const named_by = mark.access && ranges(by) !== ranges(mark.lanes) ? say(` The address was given by ${several("lane", by.length)} ${ranges(by)}.`, ` 地址由 lane ${ranges(by)} 给出。`) : "";
    return [
      element("p", {}, say(`${byWarp(marks)}. ${names.length === 1 ? "Register" : `${names.length} registers of warp ${mark.warp}:`} ${shown}${mark.sum || mark.bits === 8 * found.element.bytes ? "" : `, from byte ${mark.first_byte}`}.${named_by}`, `${byWarp(marks)}。warp ${mark.warp} 的寄存器${names.length > 1 ? `有 ${names.length} 个：` : " "}${shown}${mark.sum || mark.bits === 8 * found.element.bytes ? "" : `，从第 ${mark.first_byte} 字节起`}。${named_by}`)),
      cells(
        say(`Lanes of warp ${mark.warp}; press one to ask what its ${mark.register} holds:`, `warp ${mark.warp} 的各个 lane，点一个可问它的 ${mark.register} 里是什么：`),
        (lane) => mark.lanes.includes(lane),
        (lane) => `lane:${mark.block}:${mark.warp}:${mark.register}:${lane}:${mark.step + 1}`,
        "lane",
      ),
    ];
  }

  function operandParts(marks) {
    const places = [...new Set(marks.map(({ operand, row, col }) => `${operand}[${row}][${col}]`))];
    const warps = [...new Set(marks.map(({ warp }) => warp))].sort((a, b) => a - b);
    const lanes = [...new Set(marks.flatMap(({ lanes: all }) => all || []))].sort((a, b) => a - b);
    return [
      element("p", {}, say(`It is ${places.join(", ")} of the matrices that the instruction multiplies, in ${grouped(marks.length)} ${several("execution", marks.length)} by ${several("warp", warps.length)} ${ranges(warps)}`, `在指令所乘的矩阵里它是 ${places.join("、")}，由 warp ${ranges(warps)} 执行 ${grouped(marks.length)} 次`), lanes.length ? say(`, held by ${several("lane", lanes.length)} ${ranges(lanes)}.`, `，由 lane ${ranges(lanes)} 持有。`) : say(", read from shared memory.", "，直接从共享内存读取。")),
    ];
  }

  function last(rows, fed) {
    const same = rows.length && rows.every(([, cols]) => ranges(cols) === ranges(rows[0][1]));
    const text = same ? say(`${several("row", rows.length)} ${ranges(rows.map(([row]) => row))}, ${several("column", rows[0][1].length)} ${ranges(rows[0][1])}`, `行 ${ranges(rows.map(([row]) => row))}，列 ${ranges(rows[0][1])}`) : "";
    return element("li", {}, element("strong", {}, "C"), element("p", {}, say(`It feeds ${grouped(fed)} elements of C: ${text}.`, `它参与 C 的 ${grouped(fed)} 个元素：${text}。`)));
  }

  /** 32 banks or lanes; one that is pressed asks back. */
  const cells = (label, used, asks, what) =>
    element(
      "div",
      { role: "group", "aria-label": label },
      element("p", { class: "of-cells" }, label),
      element(
        "div",
        { class: "cells" },
        Array.from({ length: 32 }, (_, each) =>
          element("button", { type: "button", class: used(each) ? "used" : "", title: `${what} ${each}`, "aria-label": `${what} ${each}${used(each) ? say(", here", "，在这里") : ""}`, onclick: () => askBack(asks(each)) }, String(each)),
        ),
      ),
    );

  // --- backward ---

  function backFromC() {
    const at = { row: 0, col: 0 };
    return element(
      "div",
      { class: "controls" },
      number(say("row of C", "C 的行"), 0, 0, shape("C")[0] - 1, (row) => (at.row = row)),
      number(say("column of C", "C 的列"), 0, 0, shape("C")[1] - 1, (col) => (at.col = col)),
      element("button", { type: "button", onclick: () => askBack(`c:${at.row}:${at.col}`) }, say("Ask about this element of C", "询问 C 的这个元素")),
    );
  }

  function wordsOf(what) {
    const [kind, ...rest] = what.split(":");
    if (kind === "c") return `C[${rest[0]}][${rest[1]}]`;
    if (kind === "shared") return say(`the four bytes at ${hex(Number(rest[0]))} of shared memory (bank ${(rest[0] / 4) % 32}), at step ${grouped(rest[1])}`, `共享内存中 ${hex(Number(rest[0]))} 处的四个字节（bank ${(rest[0] / 4) % 32}，第 ${grouped(rest[1])} 步时）`);
    return say(`${rest[2]} of lane ${rest[3]} of warp ${rest[1]}, at step ${grouped(rest[4])}`, `warp ${rest[1]} 的 lane ${rest[3]} 的 ${rest[2]}（第 ${grouped(rest[4])} 步时）`);
  }

  function askBack(what, keeps) {
    chosen.back = what;
    if (!keeps) chosen.count = count.value = "";
    remember();
    delete place.dataset.back;
    draw();
    back.replaceChildren(
      element("p", {}, say(`From how many elements of A and B does the value of ${wordsOf(what)} come?`, `${wordsOf(what)} 的值来自 A 和 B 的多少个元素？`)),
      element("div", { class: "controls" }, element("label", {}, say("Your prediction ", "你的预测 "), count), element("button", { type: "button", onclick: () => answerBack() }, say("Check", "检查"))),
      answer,
      backFromC(),
    );
    answer.replaceChildren();
    if (!keeps) count.focus();
  }

  async function origins(what) {
    const of = await opened();
    const [kind, ...rest] = what.split(":");
    const ask = { do: "origin", bytes: 4 };
    let cluster = found?.cluster ?? 0;
    let at = null;
    if (kind === "c") {
      Object.assign(ask, { array: number_of.C, offset: offset("C", Number(rest[0]), Number(rest[1])), bytes: bytes("C") });
      ({ cluster } = await of.ask({ ...ask, do: "writer" }));
      if (cluster === null) throw new Error(say("no block writes it", "没有线程块写它"));
    } else if (kind === "shared") {
      Object.assign(ask, { shared: Number(rest[0]) });
      at = Number(rest[1]);
    } else {
      Object.assign(ask, { block: Number(rest[0]), warp: Number(rest[1]), register: rest[2], lane: Number(rest[3]) });
      at = Number(rest[4]);
    }
    if (looked !== `${cluster}:${at}`) {
      looked = "";
      await of.ask({ do: "origins", arrays: [array("A"), array("B")], cluster, step: at });
      looked = `${cluster}:${at}`;
    }
    return (await of.ask(ask)).sources;
  }

  async function answerBack() {
    if (busy) return;
    if (!/^\d+$/.test(count.value.trim())) {
      answer.textContent = say("Write a whole number first: how many elements?", "请先写一个整数：多少个元素？");
      count.focus();
      return;
    }
    chosen.count = count.value.trim();
    remember();
    busy = go.disabled = true;
    try {
      answer.textContent = say("Asking where it came from: the cluster runs once for each bit of a row or column number …", "正在查它从哪里来：行号和列号的每一位都要让 cluster 运行一遍……");
      const sources = await origins(chosen.back);
      const all = sources.reduce((sum, { rows, cols }) => sum + rows.length * cols.length, 0);
      const text = sources.map(({ array: which, rows, cols }) => `${"AB"[which]}[${ranges(rows)}][${ranges(cols)}]`);
      const right = all === Number(chosen.count);
      answer.replaceChildren(
        say(`${all} ${several("element", all)}: you predicted ${chosen.count}${right ? ", right" : ""}. `, `${all} 个元素，你预测的是 ${chosen.count}${right ? "，正确" : ""}。`),
        text.length ? say(`It came from ${text.join(" and ")}. `, `它来自 ${text.join("和")}。`) : "",
        ...sources.map(({ array: which, rows, cols }) => element("button", { type: "button", onclick: () => choose({ of: "AB"[which], row: rows[0], col: cols[0] }) }, say(`Follow ${"AB"[which]}[${rows[0]}][${cols[0]}]`, `跟踪 ${"AB"[which]}[${rows[0]}][${cols[0]}]`))),
      );
      place.dataset.back = JSON.stringify(sources.map(({ array: which, rows, cols }) => [which, rows.length, rows[0], cols.length, cols[0]]));
    } catch (problem) {
      answer.textContent = problem.message;
    } finally {
      busy = go.disabled = false;
    }
  }

  async function load() {
    try {
      kernel = await recorded("kernels", step, variant);
    } catch (problem) {
      status.textContent = problem.message;
      return;
    }
    const [rows, cols] = shape(chosen.of);
    chosen.row = within(chosen.row, rows);
    chosen.col = within(chosen.col, cols);
    build();
    draw();
    if (chosen.guess) await follow();
  }
  load();
});
