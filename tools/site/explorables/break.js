// Break the kernel: one mistake at a time, compiled beforehand, under several orders of the warps.
"use strict";

explorables.define("break", (place, from) => {
  const { say, element, choice, keep, Simulator, recorded, result } = explorables;
  const step = place.dataset.step;
  const SEEDS = [0, 1, 2, 3];
  const chosen = { mistake: Number(from.mistake) || 0, guess: from.guess || "" };
  let simulator = null;
  let kernel = null;
  let busy = false;

  const controls = element("div", { class: "controls" });
  const change = element("div", {});
  const go = element("button", { type: "button", onclick: () => start() }, say("Run under four orders", "按四种调度运行"));
  const status = element("p", { role: "status", "aria-live": "polite" });
  const found = element("div", {});

  place.append(
    element("h2", {}, say("Break the kernel", "弄坏这个 kernel")),
    element("p", {}, say("Switch one line off and predict what follows. The kernel runs with warps in four orders, each of which a GPU might choose.", "关掉一行，预测会发生什么。kernel 会按四种 warp 次序各运行一遍，每一种次序 GPU 都可能选。")),
    controls,
    change,
    go,
    status,
    found,
  );

  const guesses = () => [
    ["", say("choose …", "请选择……")],
    ["report", say("the simulator reports it, C is right all the same", "模拟器报告错误，但 C 仍然正确")],
    ["both", say("it is reported, and C is wrong", "有报告，C 也错了")],
    ["wrong", say("C is wrong, and nothing is reported", "C 错了，却没有报告")],
    ["warned", say("the simulator only warns of it, C is right", "模拟器只给出警告，C 仍然正确")],
    ["nothing", say("nothing happens", "什么也不会发生")],
  ];
  const KINDS = {
    "barrier removed": say("a barrier is removed", "去掉一个 barrier"),
    "wait removed or early": say("a wait is removed, or comes early", "去掉一次等待，或等得太早"),
    "index off by one": say("an index is off by one", "下标差一"),
    "buffer not swapped": say("a buffer is not swapped", "缓冲区没有交换"),
    "wrong fragment row": say("a fragment takes the wrong row", "fragment 取错了行"),
    "fence removed": say("a fence is removed", "去掉一个 fence"),
    "wrong phase": say("a phase is wrong", "phase 错了"),
    "wrong byte count": say("a byte count is wrong", "字节数错了"),
    "edge guard missing": say("a guard at the edge is missing", "缺少边界检查"),
  };

  async function load() {
    try {
      kernel = await recorded("kernels", step, "mistakes");
    } catch (problem) {
      status.textContent = problem.message;
      return;
    }
    chosen.mistake = Math.min(Math.max(0, chosen.mistake), kernel.runs.length - 1);
    build();
  }

  function build() {
    const one = kernel.runs[chosen.mistake];
    controls.replaceChildren(
      choice(
        say("Mistake", "错误"),
        kernel.runs.map((each, i) => [i, `${i + 1}: ${KINDS[each.kind] || each.kind}, ` + say(`line ${each.line}`, `第 ${each.line} 行`)]),
        chosen.mistake,
        (value) => {
          chosen.mistake = Number(value);
          chosen.guess = "";
          found.replaceChildren();
          status.textContent = "";
          remember();
          build();
        },
      ),
      choice(say("Your prediction", "你的预测"), guesses(), chosen.guess, (value) => {
        chosen.guess = value;
        remember();
      }),
    );
    change.replaceChildren(
      element("pre", {}, element("code", { tabindex: 0 }, element("del", {}, one.before), one.after ? element("ins", {}, `\n${one.after}`) : null)),
      element("p", {}, `${one.m}×${one.n}×${one.k}`),
    );
  }

  const remember = () => keep("break", chosen);

  async function runOnce(given, seed) {
    await simulator.call("open", { recorded: { modules: kernel.modules, ...given }, options: { seed } });
    const summary = await simulator.call("run");
    return { reports: summary.reports, warnings: summary.warnings, bytes: await simulator.call("bytes", { array: given.array }) };
  }

  // --- which events order what ---

  /** A button that shows the two accesses of a race on a graph; the simulator runs their cluster once more for it. */
  function graphOf(one, report, seed) {
    const room = element("div", {});
    const ask = async () => {
      try {
        await simulator.call("open", { recorded: { modules: kernel.modules, allocations: one.allocations, launches: one.launches }, options: { seed } });
        await simulator.call("begin", { launch: one.launches.length - 1 });
        const events = await simulator.ask({ do: "events", cluster: report.unordered.cluster, clocks: true });
        room.replaceChildren(...graph(report, events));
        place.dataset.unordered = JSON.stringify(report.unordered);
      } catch (problem) {
        room.replaceChildren(element("p", { class: "problem" }, problem.message));
      }
    };
    room.append(element("button", { type: "button", class: "order", onclick: ask }, say("What would have ordered them?", "本该由什么排定先后？")));
    return room;
  }

  const SYNCHRONISES = /^(barrier_complete|mbarrier_arrive|mbarrier_pass|cluster_arrive|cluster_pass|cp_async_wait|bulk_wait|wgmma_wait|exit)$/;

  /** The two agents' synchronising events around the two accesses, from the top down. */
  function graph(report, { events, sites, warps }) {
    const { first, second, seen } = report.unordered;
    const alone = first.agent === second.agent; // two lanes of one warp
    const sides = [first, second].map((side, i) => ({ ...side, name: alone && first.stamp === null ? (i ? side.name : say("what it has started", "它发起的操作")) : alone ? say(`${side.name}, ${i ? "one lane" : "another lane"}`, `${side.name}，${i ? "一个 lane" : "另一个 lane"}`) : side.name }));
    const agentOf = (event) => (event.rank === undefined ? null : event.rank * warps + event.warp);
    const takesPart = (event, agent) => (event.kind === "barrier_complete" ? agent < (event.of + 1) * warps && agent >= event.of * warps && event.goes_on.includes(agent - event.of * warps) : agentOf(event) === agent);
    const nodes = [];
    for (const event of events) {
      if (!SYNCHRONISES.test(event.kind)) continue;
      const columns = [0, 1].filter((side) => takesPart(event, sides[side].agent));
      if (columns.length) nodes.push({ event, columns, stamp: event.stamp, name: nameOf(event, sites) });
    }
    // What is still under way has no time yet: it stands where it was issued, at the line that the report names.
    const line = Number(/:(\d+)/.exec(report.lines[1])?.[1]);
    const issued = first.stamp === null ? events.findLast((event) => /^(copy|cp_async|wgmma)_issue$/.test(event.kind) && agentOf(event) === first.agent && sites[event.site].line === line && event.stamp <= second.stamp) : null;
    const underWay = first.stamp === null;
    sides[0].stamp = underWay ? issued?.stamp ?? 0 : first.stamp;
    const access = (side) => ({ access: side, columns: [side], stamp: sides[side].stamp });
    // An access comes behind what has its own time: a synchronisation is noted once its time has passed.
    for (const side of [0, 1]) {
      const behind = nodes.findLastIndex((node) => node.access === undefined && node.stamp <= sides[side].stamp && node.event.kind !== "exit");
      nodes.splice(behind + 1, 0, access(side));
    }
    if (nodes.findIndex((node) => node.access === 0) > nodes.findIndex((node) => node.access === 1)) {
      const both = nodes.filter((node) => node.access !== undefined);
      if (both[0].stamp === both[1].stamp) nodes[nodes.indexOf(both[0])] = both[1], nodes[nodes.lastIndexOf(both[1])] = both[0];
    }
    const from = Math.max(0, nodes.findIndex((node) => node.access !== undefined) - 3);
    const last = nodes.findLastIndex((node) => node.access !== undefined);
    const shown = nodes.slice(from, last + 3).filter((node, i, all) => node.access !== undefined || i < 8 || i > all.length - 6);
    const [own, other] = report.lines.map((line) => line.split("/").pop());
    const places = [other, own]; // a report names the later access first
    const x = [90, 270];
    const y = (row) => 44 + row * 30;
    const svg = (tag, attributes, ...children) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.append(...children);
      return made;
    };
    const parts = [];
    const text = (at, row, words, kind = "") => parts.push(svg("text", { x: at, y: row, class: kind, "text-anchor": "middle" }, words));
    const bottom = y(shown.length) - 10;
    sides.forEach(({ name }, side) => {
      text(x[side], 16, name);
      parts.push(svg("line", { x1: x[side], x2: x[side], y1: 24, y2: bottom, class: "life" }));
    });
    const rowOf = (seq) => shown.findIndex((node) => node.event && node.event.seq === seq);
    shown.forEach((node, row) => {
      if (node.access !== undefined) {
        parts.push(svg("circle", { cx: x[node.access], cy: y(row), r: 7, class: "touch" }));
        text(x[node.access] + (node.access ? 40 : -40), y(row) + 4, places[node.access] || "", "touch");
        return;
      }
      if (node.columns.length === 2) parts.push(svg("line", { x1: x[0], x2: x[1], y1: y(row), y2: y(row), class: "meets" }));
      for (const column of node.columns) parts.push(svg("circle", { cx: x[column], cy: y(row), r: 4, class: "meets" }));
      const middle = node.columns.length === 2 ? 180 : x[node.columns[0]] + (node.columns[0] ? 48 : -48);
      text(middle, y(row) + (node.columns.length === 2 ? -5 : 4), node.name, "small");
      if (node.event.kind !== "mbarrier_pass") return;
      // Whoever arrived in the phase that this wait was for comes before it.
      for (const each of events) {
        if (each.kind !== "mbarrier_arrive" || each.of !== node.event.of || each.mbarrier !== node.event.mbarrier || each.phase !== node.event.phase) continue;
        const begin = rowOf(each.seq);
        if (begin >= 0) parts.push(svg("path", { d: `M${x[shown[begin].columns[0]]} ${y(begin)}L${x[node.columns[0]]} ${y(row)}`, class: "meets" }));
      }
    });
    const at = [0, 1].map((side) => shown.findIndex((node) => node.access === side));
    parts.push(svg("line", { x1: x[0] + 8, x2: x[1] - 8, y1: y(at[0]), y2: y(at[1]), class: "unordered" }));
    text(180, (y(at[0]) + y(at[1])) / 2 - 4, "?", "touch");
    const picture = svg("svg", { viewBox: `0 0 360 ${bottom + 4}`, class: "order", role: "img", "aria-label": say("two agents from the top down; nothing leads from one access to the other", "两者自上而下；没有路径从一次访问通向另一次") }, ...parts);
    const knows = seen[first.agent] || 0;
    if (underWay) {
      return [picture, element("p", {}, say(`What ${first.name} has started is still under way when ${second.name} comes: a wait for its end is missing, or one that leads from there to here.`, `${second.name} 到来时，${first.name} 发起的操作还在途：缺少对它结束的等待，或者缺少从那里通到这里的等待。`))];
    }
    const before = events.findLast((event) => event.seen && event.stamp <= first.stamp && takesPart(event, first.agent));
    const clock = (of, agents) => agents.map((agent) => of[agent] ?? 0);
    const agents = alone ? [first.agent] : [first.agent, second.agent];
    const rows = [
      [first.name, before ? clock(before.seen, agents) : agents.map(() => 0), first.stamp],
      [second.name, clock(seen, agents), second.stamp],
    ];
    if (alone) {
      return [picture, element("p", {}, say("Both lanes are of one warp: only __syncwarp or a barrier of the block orders what they do to shared memory.", "两个 lane 同属一个 warp：只有 __syncwarp 或线程块的屏障能排定它们对共享内存的先后。"))];
    }
    return [
      picture,
      element(
        "p",
        {},
        say(
          `The first access has the time ${first.stamp}. When the second is made, ${second.name} knows of ${first.name} up to ${knows}: no arrival and no wait leads from one to the other.`,
          `前一次访问的时刻是 ${first.stamp}。后一次访问时，${second.name} 只知道 ${first.name} 到 ${knows} 为止：没有任何到达和等待把两者连起来。`,
        ),
      ),
      element(
        "table",
        { class: "counts" },
        element("thead", {}, element("tr", {}, ["", ...agents.map((agent) => say(`knows of ${agent === first.agent ? first.name : second.name} up to`, `知道 ${agent === first.agent ? first.name : second.name} 到`)), say("time of its access", "访问的时刻")].map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, rows.map(([name, values, stamp]) => element("tr", {}, element("th", { scope: "row" }, name), [...values, stamp].map((value) => element("td", {}, String(value)))))),
      ),
    ];
  }

  function nameOf(event, sites) {
    const line = event.site === undefined ? "" : `:${sites[event.site].line}`;
    const short = { barrier_complete: say("barrier", "屏障"), mbarrier_arrive: say("arrives", "到达"), mbarrier_pass: say("waited", "等到"), cluster_arrive: say("arrives", "到达"), cluster_pass: say("cluster", "cluster"), cp_async_wait: "cp.async wait", bulk_wait: "bulk wait", wgmma_wait: "wgmma wait", exit: say("ends", "结束") };
    return (short[event.kind] || event.kind) + line;
  }

  async function start() {
    if (busy || !kernel) return;
    if (!chosen.guess) {
      status.textContent = say("Choose a prediction first.", "请先选一个预测。");
      controls.querySelectorAll("select")[1].focus();
      return;
    }
    busy = true;
    go.disabled = true;
    found.replaceChildren();
    const one = kernel.runs[chosen.mistake];
    try {
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      simulator ||= await Simulator.start();
      const right = await runOnce({ ...one.right, array: result(one.right).allocation }, 0);
      const width = right.bytes.length / (one.m * one.n);
      let reported = false;
      let wrong = false;
      let warned = false;
      for (const seed of SEEDS) {
        status.textContent = say(`Order ${seed + 1} of ${SEEDS.length} …`, `第 ${seed + 1} 种次序，共 ${SEEDS.length} 种……`);
        const got = await runOnce({ allocations: one.allocations, launches: one.launches, array: result(one.right).allocation }, seed);
        let different = 0;
        for (let i = 0; i < right.bytes.length; i += width) {
          let same = true;
          for (let byte = 0; byte < width; ++byte) same &&= got.bytes[i + byte] === right.bytes[i + byte];
          different += !same;
        }
        reported ||= got.reports.length > 0;
        wrong ||= different > 0;
        warned ||= got.warnings.length > 0;
        found.append(
          element(
            "details",
            {},
            element(
              "summary",
              {},
              say(
                `order ${seed + 1}: elements of C that are wrong: ${different} of ${one.m * one.n}; reports: ${got.reports.length}`,
                `次序 ${seed + 1}：C 中有 ${different} / ${one.m * one.n} 个元素出错；报告 ${got.reports.length} 条`,
              ) + (got.warnings.length ? say(`; warnings: ${got.warnings.length}`, `；警告 ${got.warnings.length} 条`) : ""),
            ),
            got.reports.map((report) => element("p", { class: "problem" }, `${report.kind}: ${report.message}`)),
            got.warnings.map((report) => element("p", { class: "warning" }, say("warning, ", "警告，") + `${report.kind}: ${report.message}`)),
            got.reports.filter((report) => report.unordered).slice(0, 1).map((report) => graphOf(one, report, seed)),
          ),
        );
      }
      found.querySelector("details").open = true;
      const outcome = reported ? (wrong ? "both" : "report") : wrong ? "wrong" : warned ? "warned" : "nothing";
      const words = Object.fromEntries(guesses())[outcome];
      status.textContent =
        say(`What happened: ${words}. `, `结果：${words}。`) +
        (outcome === chosen.guess ? say("You predicted it.", "你预测对了。") : say("You predicted something else.", "与你的预测不同。")) +
        (outcome === "report" ? say(" A test that compares C alone would have passed.", " 只比较 C 的测试会通过。") : "") +
        (outcome === "warned" ? say(" A warning tells of what is doubtful, or does no harm here; on a GPU it may never show.", " 警告指的是有疑问、或在这里不造成危害的情况；在 GPU 上也许从来看不出来。") : "") +
        (outcome === "wrong" && !warned ? say(" Every access is ordered and within bounds; only the numbers are wrong.", " 每次访问都有序、都不越界，只是数值错了。") : "");
      place.dataset.outcome = outcome;
    } catch (problem) {
      status.textContent = problem.message;
    } finally {
      busy = false;
      go.disabled = false;
    }
  }

  load();
});
