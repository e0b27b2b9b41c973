// Ring player: what happens between the warps of one block or cluster, event by event, and what happens without one
// arrival. The events are the simulator's; this file only replays and draws them.
"use strict";

explorables.define("rings", (place, from) => {
  const { say, element, choice, grouped, keep, Simulator, recorded, run } = explorables;
  const step = place.dataset.step;
  const whole = (text) => (/^\d+$/.test(text || "") ? Number(text) : null);
  const chosen = { guess: from.guess || "", seed: whole(from.seed) || 0, at: whole(from.at) || 0, without: whole(from.without), fate: from.fate || "" };
  let simulator = null;
  let kernel = null;
  let busy = false;
  let found = null; // the simulator's answer
  let playing = null;

  const status = element("p", { class: "status", role: "status", "aria-live": "polite" });
  const guess = element("input", { type: "text", inputmode: "numeric", size: 4, value: chosen.guess, onkeydown: (event) => event.key === "Enter" && start() });
  const go = element("button", { type: "button", onclick: () => start() }, say("Predict and run", "先预测，再运行"));
  const controls = element("div", { class: "controls" });
  const player = element("div", {});

  place.append(
    element("h2", {}, say("Ring player", "环形缓冲播放器")),
    element(
      "p",
      {},
      say(
        "The kernel runs in this tab, in the course's simulator, on one block or cluster and a few slices of K. A slider goes through everything that its warps tell each other.",
        "kernel 就在这个标签页里、在课程的模拟器中运行：一个线程块或 cluster，几片 K。滑块逐个走过各 warp 之间发生的每一件事。",
      ),
    ),
    element("p", {}, say("How many slices of K are on their way at most at the same time, in one block?", "在一个线程块里，同一时刻最多有几片 K 在途？")),
    controls,
    status,
    player,
  );

  const remember = () => keep("rings", Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== null && value !== "")));

  function build() {
    controls.replaceChildren(
      element("label", {}, say("Your prediction ", "你的预测 "), guess),
      choice(say("Order of warps and copies", "warp 与拷贝的次序"), [0, 1, 2, 3].map((seed) => [seed, seed === 0 ? say("as numbered", "按编号") : say(`drawn by lot ${seed}`, `随机 ${seed}`)]), chosen.seed, (value) => {
        Object.assign(chosen, { seed: Number(value), at: 0, without: null, fate: "" });
        remember();
        if (found) start();
      }),
      go,
    );
  }

  async function start() {
    if (busy) return;
    if (!/^\d+$/.test(guess.value.trim())) {
      status.textContent = say("Write a whole number first: a guess is enough.", "请先写一个整数：猜一个就行。");
      guess.focus();
      return;
    }
    chosen.guess = guess.value.trim();
    remember();
    busy = true;
    go.disabled = true;
    pause();
    try {
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      kernel ||= await recorded("kernels", step, "rings");
      simulator ||= await Simulator.start();
      status.textContent = say("Running …", "正在运行……");
      await simulator.call("open", { recorded: run(kernel, 0), options: { seed: chosen.seed } });
      await simulator.call("begin", { launch: kernel.runs[0].launches.length - 1 });
      found = prepared(await simulator.ask({ do: "events", cluster: 0, without: chosen.without }));
      place.events = found.events; // for whoever compares them
      chosen.at = Math.min(chosen.at, found.events.length - 1);
      tell();
      draw();
    } catch (problem) {
      status.textContent = problem.message;
    } finally {
      busy = false;
      go.disabled = false;
    }
  }

  // --- what the events say ---

  const cpAsync = (kind) => kind.startsWith("cp_async");

  /** The answer with what is asked of it again and again: states are replayed from the start. */
  function prepared(answer) {
    let most = 0;
    const state = fresh(answer);
    const before = {}; // of each warp its last event
    for (const event of answer.events) {
      apply(state, event, answer);
      most = Math.max(most, slicesUnderWay(state, answer));
      const key = keyOf(event);
      if (key !== null) {
        event.previous = before[key] ?? null;
        before[key] = event.seq;
      }
    }
    return { ...answer, most };
  }

  const keyOf = (event) => (event.rank === undefined ? null : `${event.rank}:${event.warp}`);

  function fresh(answer) {
    const warps = {};
    answer.blocks.forEach((_, rank) => {
      for (let warp = 0; warp < answer.warps; ++warp) warps[`${rank}:${warp}`] = { rank, warp, waits: null, ended: false, groups: {}, products: 0, committed: 0, done: 0 };
    });
    return { warps, mbarriers: {}, barriers: {}, copies: new Map() };
  }

  function apply(state, event, answer) {
    const warp = event.rank === undefined ? null : state.warps[keyOf(event)];
    if (warp) warp.waits = null;
    const mbarrier = event.mbarrier === undefined ? null : (state.mbarriers[`${event.of}:${event.mbarrier}`] ||= { of: event.of, address: event.mbarrier, phase: 0, missing: 0, expected: 0, bytes: 0 });
    switch (event.kind) {
      case "mbarrier_init":
      case "mbarrier_arrive":
      case "mbarrier_expect":
        Object.assign(mbarrier, { phase: event.phase, missing: event.missing, expected: event.expected, bytes: event.missing_bytes || 0 });
        break;
      case "mbarrier_complete":
        Object.assign(mbarrier, { phase: event.phase + 1, missing: mbarrier.expected, bytes: 0 });
        break;
      case "copy_issue":
        state.copies.set(event.copy, event);
        break;
      case "copy_land":
        state.copies.delete(event.copy);
        if (mbarrier) mbarrier.bytes -= event.bytes;
        break;
      case "barrier_arrive":
        state.barriers[`${event.of}:${event.barrier}`] = { of: event.of, number: event.barrier, missing: event.missing, expected: event.expected };
        if (!/arrive/.test(answer.sites[event.site].instruction)) warp.waits = event;
        break;
      case "barrier_complete":
        state.barriers[`${event.of}:${event.barrier}`] = { of: event.of, number: event.barrier, missing: event.expected, expected: event.expected };
        for (const each of event.goes_on) state.warps[`${event.of}:${each}`].waits = null;
        break;
      case "mbarrier_wait":
      case "cluster_wait":
      case "registers_wait":
      case "warpgroup_wait":
        warp.waits = event;
        break;
      case "cp_async_issue":
        warp.groups[event.group] = (warp.groups[event.group] || 0) + event.bytes;
        break;
      case "cp_async_wait":
        for (const group of Object.keys(warp.groups)) if (Number(group) < event.group) delete warp.groups[group];
        break;
      case "wgmma_issue":
        warp.products += event.times || 1;
        warp.open = (warp.open || 0) + (event.times || 1);
        break;
      case "wgmma_commit":
        (warp.perGroup ||= {})[event.group] = warp.open || 0;
        warp.open = 0;
        break;
      case "wgmma_wait":
        for (const [group, count] of Object.entries(warp.perGroup || {})) {
          if (Number(group) >= event.group) continue;
          warp.products -= count;
          delete warp.perGroup[group];
        }
        break;
      case "exit":
        warp.ended = true;
        break;
    }
  }

  /** Stages of one block whose copies are under way, or groups of cp.async of one warp that nobody has waited for. */
  function slicesUnderWay(state, answer) {
    const stages = {};
    for (const copy of state.copies.values()) if (copy.mbarrier !== undefined) (stages[copy.of] ||= new Set()).add(copy.mbarrier);
    const groups = Object.values(state.warps).map((warp) => Object.keys(warp.groups).length);
    return Math.max(0, ...Object.values(stages).map((each) => each.size), ...groups);
  }

  function stateAt(at) {
    const state = fresh(found);
    for (let i = 0; i <= at; ++i) apply(state, found.events[i], found);
    return state;
  }

  // --- words ---

  const clustered = () => found.blocks.length > 1;
  const warpName = (event) => (clustered() ? say(`warp ${event.warp} of block ${event.rank}`, `线程块 ${event.rank} 的 warp ${event.warp}`) : `warp ${event.warp}`);

  /** Of a row or a column: short, with the block's number before it. */
  const short = (rank, name) => (clustered() ? `${rank}: ${name}` : name);

  function nameOf(of, address, brief = false) {
    const variable = found.shared_variables.find(({ offset, bytes }) => address >= offset && address < offset + bytes);
    const name = !variable ? `mbarrier 0x${address.toString(16)}` : variable.bytes > 8 ? `${variable.name}[${(address - variable.offset) / 8}]` : variable.name;
    if (brief) return short(of, name);
    return clustered() ? say(`${name} of block ${of}`, `线程块 ${of} 的 ${name}`) : name;
  }

  const bytes = (count) => say(`${grouped(count)} bytes`, `${grouped(count)} 字节`);
  const parity = (phase) => say(`phase ${phase} (parity ${phase & 1})`, `phase ${phase}（奇偶 ${phase & 1}）`);

  /** What a warp that has stopped waits for. */
  function awaited(event) {
    if (event.kind === "mbarrier_wait") return say(`${parity(event.phase)} of ${nameOf(event.of, event.mbarrier)}`, `${nameOf(event.of, event.mbarrier)} 的 ${parity(event.phase)}`);
    if (event.kind === "barrier_arrive") return say(`barrier ${event.barrier}`, `屏障 ${event.barrier}`);
    if (event.kind === "cluster_wait") return say("the cluster's barrier", "cluster 的屏障");
    if (event.kind === "registers_wait") return say("registers that others give up", "别的 warp 让出寄存器");
    return say("its warpgroup", "同一 warpgroup 的其他 warp");
  }

  /** Chinese with a space where it meets Latin letters or digits, and none within. */
  const spaced = (text) => text.replace(/([\u4e00-\u9fff]) +(?=[\u4e00-\u9fff，。：；（）])/g, "$1").replace(/([\u4e00-\u9fff])(?=[A-Za-z0-9])/g, "$1 ");
  const words = (event) => spaced(told(event));

  function told(event) {
    const who = event.rank === undefined ? "" : warpName(event);
    const where = event.mbarrier === undefined ? "" : nameOf(event.of, event.mbarrier);
    const times = event.times > 1 ? say(`, ${event.times} times`, `，${event.times} 次`) : "";
    switch (event.kind) {
      case "mbarrier_init": return say(`${who} initialises ${where} for ${event.expected} arrivals`, `${who} 初始化 ${where}，每个 phase 要 ${event.expected} 次到达`);
      case "mbarrier_expect": return say(`${who} announces ${bytes(event.bytes)} to ${where}`, `${who} 向 ${where} 预告 ${bytes(event.bytes)}`);
      case "mbarrier_arrive": return say(`${who} arrives at ${where}, ${parity(event.phase)}${times}; arrivals missing: ${event.missing}`, `${who} 到达 ${where}，${parity(event.phase)}${times}；还缺 ${event.missing} 次到达`);
      case "mbarrier_wait": return say(`${who} stops and waits for ${awaited(event)}`, `${who} 停下，等 ${awaited(event)}`);
      case "mbarrier_pass": return event.phase < 0
        ? say(`${who} finds ${where} before its first phase: a wait for parity 1 ends at once`, `${who} 看到 ${where} 还在第一个 phase 之前：等奇偶 1，立即结束`)
        : say(`${who} goes on: ${parity(event.phase)} of ${where} is complete`, `${who} 继续：${where} 的 ${parity(event.phase)}已完成`);
      case "mbarrier_complete": return say(`${parity(event.phase)} of ${where} is complete`, `${where} 的 ${parity(event.phase)}完成`);
      case "copy_issue": return where
        ? say(`${who} asks TMA for ${bytes(event.bytes)}, which ${where} will count`, `${who} 请 TMA 搬 ${bytes(event.bytes)}，由 ${where} 计数`)
        : say(`${who} asks TMA to store a tile`, `${who} 请 TMA 写出一块`);
      case "copy_land": return event.bytes
        ? say(`${bytes(event.bytes)} have landed; ${where} counts them`, `${bytes(event.bytes)}落地，${where} 计数`)
        : say("TMA has stored a tile", "TMA 写完了一块");
      case "bulk_commit": return say(`${who} closes its group of stores`, `${who} 结束一个存储 group`);
      case "bulk_wait": return say(`${who} knows that TMA has read its stores: ${event.group} groups`, `${who} 得知 TMA 已读完存储：共 ${event.group} 个 group`);
      case "cp_async_issue": return say(`${who} issues cp.async, ${bytes(event.bytes)}, group ${event.group}`, `${who} 发出 cp.async，${bytes(event.bytes)}，group ${event.group}`);
      case "cp_async_commit": return say(`${who} closes group ${event.group}`, `${who} 结束 group ${event.group}`);
      case "cp_async_wait": return say(`${who} has waited: its first ${event.group} groups are there`, `${who} 等到了：前 ${event.group} 个 group 已到`);
      case "wgmma_issue": return say(`${who} issues ${event.times || 1} wgmma, group ${event.group}`, `${who} 发出 ${event.times || 1} 条 wgmma，group ${event.group}`);
      case "wgmma_commit": return say(`${who} closes wgmma group ${event.group}`, `${who} 结束 wgmma group ${event.group}`);
      case "wgmma_wait": return say(`${who} has waited: its first ${event.group} wgmma groups are done`, `${who} 等到了：前 ${event.group} 个 wgmma group 已完成`);
      case "fence": return say(`${who} executes ${found.sites[event.site].instruction}`, `${who} 执行 ${found.sites[event.site].instruction}`);
      case "registers": return say(`${who} has ${event.registers} registers per thread from now on`, `${who} 从此每线程有 ${event.registers} 个寄存器`);
      case "registers_wait":
      case "warpgroup_wait":
      case "cluster_wait": return say(`${who} stops and waits for ${awaited(event)}`, `${who} 停下，等${awaited(event)}`);
      case "barrier_arrive": return say(`${who} comes to barrier ${event.barrier}; warps missing: ${event.missing}`, `${who} 到达屏障 ${event.barrier}；还缺 ${event.missing} 个 warp`);
      case "barrier_complete": return say(`all have come to barrier ${event.barrier}: ${event.goes_on.length} warps go on`, `屏障 ${event.barrier} 到齐：${event.goes_on.length} 个 warp 继续`);
      case "cluster_arrive": return say(`${who} arrives at the cluster's barrier; threads missing: ${event.missing}`, `${who} 到达 cluster 的屏障；还缺 ${event.missing} 个线程`);
      case "cluster_pass": return say(`${who} leaves the cluster's barrier`, `${who} 离开 cluster 的屏障`);
      case "cluster_complete": return say("all threads have come to the cluster's barrier", "cluster 的屏障到齐");
      case "exit": return say(`${who} ends`, `${who} 结束`);
      case "left_out": return say(`here ${who} would arrive${where ? ` at ${where}` : ""}: taken away`, `${who} 本该在此到达${where ? ` ${where}` : ""}：已去掉`);
    }
    return event.kind;
  }

  const isArrival = (event) => ["mbarrier_arrive", "barrier_arrive", "cluster_arrive"].includes(event.kind);
  const fateOf = () => (found.reports.some(({ message }) => message.includes("deadlock in")) ? "deadlock" : found.reports.length ? "report" : "nothing");
  const fates = () => [
    ["", say("choose …", "请选择……")],
    ["deadlock", say("a deadlock", "死锁")],
    ["report", say("no deadlock, but a race or another report", "不会死锁，但有竞争或别的报告")],
    ["nothing", say("nothing happens", "什么也不会发生")],
  ];

  function tell() {
    const right = Number(chosen.guess) === found.most;
    const text = say(`Slices on their way at most: ${found.most}. You predicted ${chosen.guess}${right ? ": right." : "."}`, `最多有 ${found.most} 片在途。你预测的是 ${chosen.guess}${right ? "，正确。" : "。"}`);
    const outcome = fateOf();
    place.dataset.most = found.most;
    place.dataset.events = found.window.all;
    place.dataset.outcome = chosen.without === null ? "" : outcome;
    if (chosen.without === null) {
      status.textContent = text;
      return;
    }
    const what = Object.fromEntries(fates())[outcome];
    status.textContent =
      say(`Without event ${chosen.without}: ${what}. `, `去掉事件 ${chosen.without}：${what}。`) + (outcome === chosen.fate ? say("You predicted it.", "你预测对了。") : say("You predicted something else.", "与你的预测不同。"));
  }

  // --- pictures ---

  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter(Boolean));
    return made;
  };
  const WIDE = 7; // of an event
  const HIGH = 16; // of a row
  const LEFT = 4;

  /** Each warp and each mbarrier a row, each event a column. Returns the picture and the function that moves its cursor. */
  function timeline() {
    const events = found.events;
    const rows = {};
    const names = [];
    const add = (key, name) => {
      rows[key] = names.length * HIGH;
      names.push(name);
    };
    const mbarriers = Object.values(stateAt(events.length - 1).mbarriers).sort((a, b) => a.of - b.of || a.address - b.address);
    for (const { of, address } of mbarriers) add(`m${of}:${address}`, nameOf(of, address, true));
    found.blocks.forEach((_, rank) => {
      for (let warp = 0; warp < found.warps; ++warp) add(`${rank}:${warp}`, short(rank, `warp ${warp}`));
    });
    const x = (seq) => LEFT + seq * WIDE;
    const right = x(events.length) + WIDE;
    const high = names.length * HIGH;
    const shapes = [];
    const bar = (kind, from, to, y, title) => shapes.push(svg("rect", { class: kind, x: x(from), y: y + 3, width: Math.max(2, (to - from) * WIDE), height: HIGH - 6 }, svg("title", {}, title)));
    const open = {}; // of each warp, since when it waits; of each mbarrier, since when its phase goes on
    const phases = {};
    for (const event of events) {
      const key = keyOf(event);
      const ends = key !== null ? [key] : event.kind === "barrier_complete" ? event.goes_on.map((warp) => `${event.of}:${warp}`) : [];
      for (const each of ends) {
        if (open[each]) bar("waits", open[each].seq, event.seq, rows[each], awaited(open[each]));
        delete open[each];
      }
      if (/_wait$/.test(event.kind) && !/^(cp_async|bulk|wgmma)/.test(event.kind)) open[key] = event;
      if (event.kind === "barrier_arrive" && !/arrive/.test(found.sites[event.site].instruction)) open[key] = event;
      if (event.mbarrier !== undefined && event.phase !== undefined && event.phase >= 0) {
        const row = `m${event.of}:${event.mbarrier}`;
        if (/init|arrive|expect/.test(event.kind)) (phases[row] ||= { seq: event.seq, phase: event.phase });
        if (event.kind === "mbarrier_complete") {
          const begun = phases[row] || { seq: event.seq };
          bar(event.phase & 1 ? "odd" : "even", begun.seq, event.seq, rows[row], parity(event.phase));
          delete phases[row];
        }
      }
    }
    for (const [key, event] of Object.entries(open)) bar("waits for-ever", event.seq, events.length, rows[key], awaited(event));
    for (const [row, { seq, phase }] of Object.entries(phases)) bar(`${phase & 1 ? "odd" : "even"} unfinished`, seq, events.length, rows[row], parity(phase));
    for (const event of events) {
      const key = keyOf(event);
      const kind = event.kind === "left_out" ? "out" : isArrival(event) ? "arrives" : /copy|cp_async_issue|cp_async_commit/.test(event.kind) ? "copies" : /wgmma/.test(event.kind) ? "multiplies" : event.kind === "exit" ? "ends" : null;
      const y = key !== null ? rows[key] : event.mbarrier !== undefined ? rows[`m${event.of}:${event.mbarrier}`] : undefined;
      if (kind && y !== undefined) shapes.push(svg("rect", { class: kind, x: x(event.seq) + 1, y: y + 4, width: WIDE - 2, height: HIGH - 8 }));
    }
    const cursor = svg("rect", { class: "cursor", x: 0, y: 0, width: WIDE, height: high });
    const cause = svg("path", { class: "cause", d: "" });
    const picture = svg("svg", { width: right, height: high, viewBox: `0 0 ${right} ${high}`, role: "img", "aria-label": say("events from left to right, a row for each barrier and each warp", "事件从左到右，每个屏障、每个 warp 一行") }, ...shapes, cause, cursor);
    picture.addEventListener("click", ({ clientX }) => {
      const seq = Math.floor((clientX - picture.getBoundingClientRect().x - LEFT) / WIDE);
      move(Math.min(events.length - 1, Math.max(0, seq)));
    });
    const labels = element("div", { class: "ring-names", "aria-hidden": "true" }, names.map((name) => element("span", { style: `height:${HIGH}px` }, name)));
    const scrolled = element("div", { class: "ring-time", tabindex: 0, role: "group", "aria-label": say("the course of events", "事件的经过") }, picture);
    const center = (event) => {
      const key = keyOf(event) ?? (event.mbarrier !== undefined ? `m${event.of}:${event.mbarrier}` : null);
      return key !== null && rows[key] !== undefined ? [x(event.seq) + WIDE / 2, rows[key] + HIGH / 2] : null;
    };
    const show = (event) => {
      cursor.setAttribute("x", x(event.seq));
      const chain = [event, ...why(event).map((seq) => events[seq])].map(center).filter(Boolean);
      cause.setAttribute("d", chain.length > 1 ? `M${chain.map((point) => point.join(" ")).join("L")}` : "");
      const left = x(event.seq) - scrolled.clientWidth / 2;
      if (x(event.seq) < scrolled.scrollLeft || x(event.seq) + WIDE > scrolled.scrollLeft + scrolled.clientWidth) scrolled.scrollLeft = left;
    };
    return { view: element("div", { class: "ring" }, labels, scrolled), show };
  }

  /** The events that led to this one: its cause, and where a warp acted, the last time that it was let go on. */
  function why(event) {
    const chain = [];
    for (let now = event; chain.length < 6; ) {
      let next = now.caused_by;
      for (let own = now; next === null && own && own.previous !== undefined && own.previous !== null; ) {
        own = found.events[own.previous];
        if (own.caused_by !== null) next = own.seq;
      }
      if (next === null || next === undefined) break;
      chain.push(next);
      now = found.events[next];
    }
    return chain;
  }

  let parts = null;

  function draw() {
    const last = found.events.length - 1;
    const time = timeline();
    const slider = element("input", { type: "range", min: 0, max: last, value: chosen.at, "aria-label": say("event", "事件"), oninput: () => move(Number(slider.value)) });
    const button = (text, label, act) => element("button", { type: "button", "aria-label": label, onclick: act }, text);
    const play = button(say("Play", "播放"), say("play or pause", "播放或暂停"), () => (playing ? pause() : go_on()));
    const now = element("div", { class: "ring-now", "aria-live": "polite" });
    const state = element("div", {});
    parts = { time, slider, play, now, state };
    player.replaceChildren(
      element(
        "div",
        { class: "controls" },
        button("|◀", say("first event", "第一个事件"), () => move(0)),
        button("◀", say("event before", "上一个事件"), () => move(chosen.at - 1)),
        play,
        button("▶", say("next event", "下一个事件"), () => move(chosen.at + 1)),
        button("▶|", say("last event", "最后一个事件"), () => move(last)),
        slider,
      ),
      time.view,
      element(
        "p",
        { class: "ring-legend" },
        ...[["even", say("phase of parity 0", "奇偶 0 的 phase")], ["odd", say("parity 1", "奇偶 1")], ["waits", say("a warp waits", "warp 在等")], ["arrives", say("arrival", "到达")], ["copies", say("copy", "拷贝")], ["multiplies", "wgmma"]].map(([kind, text]) => element("span", {}, element("i", { class: kind }), text)),
      ),
      now,
      state,
    );
    // The state's own numbers, once the page has laid the picture out.
    requestAnimationFrame(() => move(chosen.at));
  }

  function pause() {
    clearInterval(playing);
    playing = null;
    if (parts) parts.play.textContent = say("Play", "播放");
  }

  function go_on() {
    parts.play.textContent = say("Pause", "暂停");
    playing = setInterval(() => (chosen.at >= found.events.length - 1 || !document.contains(place) ? pause() : move(chosen.at + 1)), 300);
  }

  function move(to) {
    const last = found.events.length - 1;
    chosen.at = Math.min(last, Math.max(0, to));
    remember();
    const event = found.events[chosen.at];
    const site = event.site === undefined ? null : found.sites[event.site];
    const source = site && Object.entries(kernel.sources).find(([file]) => site.file.endsWith(file));
    const code = source ? source[1].split("\n")[site.line - 1].trim() : "";
    parts.slider.value = chosen.at;
    parts.slider.setAttribute("aria-valuetext", words(event));
    parts.time.show(event);
    const because = why(event);
    const fate = choice(say("Without this arrival, there will be", "没有这次到达，会有"), fates(), chosen.without === null ? chosen.fate : "", (value) => (chosen.fate = value));
    parts.now.replaceChildren(
      element("p", {}, element("strong", {}, `${chosen.at} / ${last}  `), words(event), site ? say(`, line ${site.line}`, `，第 ${site.line} 行`) : ""),
      code ? element("pre", {}, element("code", { tabindex: 0 }, code)) : "",
      because.length
        ? element("p", {}, say("Because: ", "原因："), because.map((seq) => element("button", { type: "button", class: "link", onclick: () => move(seq) }, words(found.events[seq]))))
        : "",
      isArrival(event) && chosen.without === null
        ? element(
            "div",
            { class: "controls" },
            fate,
            element("button", { type: "button", class: "take-away", onclick: takeAway }, say("Take it away and run", "去掉它再运行")),
          )
        : "",
      chosen.without !== null ? element("button", { type: "button", onclick: putBack }, say("Put the arrival back", "放回这次到达")) : "",
    );
    if (chosen.at === last || chosen.without !== null) parts.now.append(...found.reports.map(({ kind, message }) => element("p", { class: "problem" }, `${kind}: ${message}`)));
    if (chosen.at === last && found.waits_for_others) parts.now.append(element("p", { class: "problem" }, say("It waits for other clusters, which do not run here.", "它在等别的 cluster，而它们没有在这里运行。")));
    parts.state.replaceChildren(...stateNow());
  }

  function takeAway() {
    if (!chosen.fate) {
      status.textContent = say("Choose a prediction first.", "请先选一个预测。");
      parts.now.querySelector("select").focus();
      return;
    }
    chosen.without = chosen.at;
    start().then(() => found && move(found.events.length - 1));
  }

  function putBack() {
    chosen.at = chosen.without;
    Object.assign(chosen, { without: null, fate: "" });
    start();
  }

  /** Barriers, copies under way, and warps, after the event at the cursor. */
  function stateNow() {
    const state = stateAt(chosen.at);
    const waiting = Object.values(state.warps).filter(({ waits }) => waits);
    const mbarriers = Object.values(state.mbarriers).sort((a, b) => a.of - b.of || a.address - b.address);
    const numbers = (warps) => warps.map(({ rank, warp }) => (clustered() ? `${rank}.${warp}` : warp)).join(" ");
    const rows = mbarriers.map(({ of, address, phase, missing, expected, bytes: open }) => {
      const those = waiting.filter(({ waits }) => waits.kind === "mbarrier_wait" && waits.of === of && waits.mbarrier === address);
      return [nameOf(of, address, true), `${phase} (${phase & 1})`, `${expected - missing} / ${expected}`, open ? grouped(open) : "–", those.length ? numbers(those) : "–"];
    });
    for (const { of, number, missing, expected } of Object.values(state.barriers)) {
      const those = waiting.filter(({ rank, waits }) => waits.kind === "barrier_arrive" && rank === of && waits.barrier === number);
      rows.push([short(of, say(`barrier ${number}`, `屏障 ${number}`)), "", `${expected - missing} / ${expected}`, "", those.length ? numbers(those) : "–"]);
    }
    const heads = [say("barrier", "屏障"), say("phase (parity)", "phase（奇偶）"), say("arrived", "已到达"), say("bytes missing", "还缺字节"), say("warps that wait", "在等的 warp")];
    const flights = {};
    for (const copy of state.copies.values()) {
      const name = copy.mbarrier === undefined ? say("store", "存储") : nameOf(copy.of, copy.mbarrier);
      flights[name] ||= { count: 0, bytes: 0 };
      flights[name].count += 1;
      flights[name].bytes += copy.bytes || 0;
    }
    for (const { groups } of Object.values(state.warps)) {
      for (const [group, amount] of Object.entries(groups)) {
        const name = `group ${group}`;
        flights[name] ||= { count: 0, bytes: 0, warps: true };
        flights[name].count += 1;
        flights[name].bytes += amount;
      }
    }
    const flying = Object.entries(flights).map(([name, { count, bytes: amount, warps }]) => {
      const those = warps ? say(`of ${count} warps`, `${count} 个 warp`) : say(`${count} copies`, `${count} 个拷贝`);
      return element("span", {}, say(`${name}: ${those}${amount ? `, ${bytes(amount)}` : ""}`, `${name}：${those}${amount ? `，${bytes(amount)}` : ""}`));
    });
    // Neighbours that do the same stand together.
    const groups = [];
    for (const { rank, warp, waits, ended, products } of Object.values(state.warps)) {
      const does = (ended ? say("has ended", "已结束") : waits ? say(`waits for ${awaited(waits)}`, `在等${awaited(waits)}`) : say("runs", "在运行")) + (products ? say(`, wgmma under way: ${products}`, `，在途的 wgmma：${products}`) : "");
      const last = groups.at(-1);
      if (last && last.does === does && last.rank === rank) last.to = warp;
      else groups.push({ rank, from: warp, to: warp, does, kind: ended ? "ended" : waits ? "waiting" : "" });
    }
    const of_group = ({ rank, from, to, does, kind }) => element("li", { class: kind }, (clustered() ? say(`block ${rank}, `, `线程块 ${rank}，`) : "") + `warp ${from}${to > from ? `–${to}` : ""}` + say(": ", "：") + spaced(does));
    return [
      element("div", { class: "scrolled", tabindex: 0, role: "group", "aria-label": heads[0] }, element("table", { class: "ring-state" }, element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name), cells.map((cell) => element("td", {}, cell))))))),
      element("p", { class: "flying" }, element("strong", {}, say("On their way: ", "在途：")), flying.length ? flying : say("nothing", "无")),
      element("ul", { class: "warps" }, groups.map(of_group)),
    ];
  }

  build();
  if (chosen.guess) start();
});
