// Run this step: the kernel of the chapter in the tab, with counts beside its code, and step by step.
"use strict";

explorables.define("run", (place, from) => {
  const { say, element, choice, number, grouped, per, ranges, bankCells, lanesByWord, keep, Simulator, recorded, run, main, result } = explorables;
  const step = place.dataset.step;
  const variants = place.dataset.variants.split(" ");
  const chosen = {
    variant: variants.includes(from.variant) ? from.variant : variants[0],
    size: Number(from.size) || 0,
    seed: Number(from.seed) || 0,
    guess: from.guess || "",
    line: Number(from.line) || 0, // whose requests are shown, of this warp
    warp: Number(from.warp) || 0,
  };
  let simulator = null;
  let kernel = null;
  let busy = false;

  const controls = element("div", { class: "controls" });
  const question = element("p", {});
  const guess = element("input", { type: "text", inputmode: "decimal", value: chosen.guess, size: 6 });
  const go = element("button", { type: "button", onclick: () => start() }, say("Predict and run", "先预测，再运行"));
  const stop = element("button", { type: "button", disabled: true, onclick: () => halt() }, say("Stop", "停止"));
  const bar = element("progress", { max: 1, value: 0, "aria-label": say("how far the run is", "运行进度") });
  const status = element("p", { class: "status", role: "status", "aria-live": "polite" });
  const verdict = element("div", {});
  const code = element("div", { class: "code" });
  const requests = element("div", { class: "requests" });
  const stepper = element("div", {});
  const own = element("textarea", { rows: 6, spellcheck: "false", "aria-label": "PTX" });

  place.append(
    element("h2", {}, say("Run this step here", "在这里运行这一步")),
    element(
      "p",
      {},
      say(
        "The kernel's PTX runs in this tab, in the course's simulator. A tab has no CUDA compiler: the variants were compiled beforehand.",
        "kernel 的 PTX 就在这个标签页里、在课程的模拟器中运行。标签页里没有 CUDA 编译器，各个版本是事先编译好的。",
      ),
    ),
    controls,
    question,
    element("div", { class: "controls" }, element("label", {}, say("Your prediction ", "你的预测 "), guess), go, stop, bar),
    status,
    verdict,
    code,
    requests,
    stepper,
    element(
      "details",
      {},
      element("summary", {}, say("PTX of your own", "用你自己的 PTX")),
      element(
        "p",
        {},
        say(
          "Change the kernel, compile it with nvcc -ptx -lineinfo, and paste the PTX. It is launched like the variant that is chosen above, with the same parameters.",
          "改动 kernel，用 nvcc -ptx -lineinfo 编译，把 PTX 粘贴到这里。它会像上面选中的版本那样 launch，参数相同。",
        ),
      ),
      own,
      element("p", {}, element("button", { type: "button", onclick: () => start(own.value) }, say("Run this PTX", "运行这段 PTX"))),
    ),
  );

  // What is asked before: of the counts per request, the one that a chapter is about.
  const asked = () =>
    Number(step.slice(0, 2)) < 3 || !variantUsesShared()
      ? {
          words: say(
            "How many sectors of 32 bytes does a request to load from global memory take, on average?",
            "平均而言，一次 global load 请求要几个 32 字节的 sector？",
          ),
          of: (counts) => [counts.global_load_sectors, counts.global_load_requests],
        }
      : {
          words: say(
            "How many wavefronts does a request to load from shared memory take, on average?",
            "平均而言，一次 shared load 请求要几个 wavefront？",
          ),
          of: (counts) => [counts.shared_load_wavefronts, counts.shared_load_requests],
        };
  const variantUsesShared = () => !kernel || /ld(matrix)?[.\w:]*\.shared|wmma\.load[.\w:]*shared/.test(kernel.modules.join("\n"));
  const tensorMemory = () => kernel && !/ld(matrix)?[.\w:]*\.shared/.test(kernel.modules.join("\n")) && /wgmma/.test(kernel.modules.join("\n"));

  function ask() {
    question.textContent = tensorMemory()
      ? say(
          "How many bytes does one TMA load bring, on average, into shared memory?",
          "平均而言，一次 TMA load 把多少字节送进共享内存？",
        )
      : asked().words;
  }
  function counted(counts) {
    if (tensorMemory() && counts.tma) return [counts.tma.load_bytes, counts.tma.load_requests];
    return asked().of(counts);
  }

  async function load() {
    busy = true;
    try {
      kernel = await recorded("kernels", step, chosen.variant);
    } catch (problem) {
      status.textContent = problem.message;
      return;
    } finally {
      busy = false;
    }
    chosen.size = Math.min(chosen.size, kernel.runs.length - 1);
    controls.replaceChildren(
      choice(say("Variant", "版本"), variants.map((name) => [name, name]), chosen.variant, (value) => {
        chosen.variant = value;
        remember();
        load();
      }),
      choice(
        say("Size", "尺寸"),
        kernel.runs.map((one, i) => [i, `${one.m}×${one.n}×${one.k}, ${grouped(one.instructions)} ` + say("instructions", "条指令")]),
        chosen.size,
        (value) => {
          chosen.size = Number(value);
          remember();
        },
      ),
      number(say("Seed of the order", "调度种子"), chosen.seed, 0, 9999, (value) => {
        chosen.seed = value;
        remember();
      }),
    );
    ask();
    showCode({});
  }

  const remember = () => keep("run", chosen);

  async function halt() {
    stop.disabled = true;
    if (simulator) await simulator.call("stop").catch(() => {});
  }

  async function start(text) {
    if (busy || !kernel) return;
    if (!guess.value.trim() && text === undefined) {
      status.textContent = say("Write a number first: a guess is enough.", "请先写一个数：猜一个就行。");
      guess.focus();
      return;
    }
    chosen.guess = guess.value.trim();
    remember();
    busy = true;
    go.disabled = true;
    stop.disabled = false;
    bar.value = 0;
    verdict.replaceChildren();
    requests.replaceChildren();
    stepper.replaceChildren();
    const one = kernel.runs[chosen.size];
    try {
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      simulator ||= await Simulator.start();
      const given = run(kernel, chosen.size);
      if (text !== undefined) replaceKernel(given, text);
      await simulator.call("open", { recorded: given, options: { seed: chosen.seed } });
      const found = await simulator.call("run", {}, ({ share, seconds }) => {
        bar.value = share;
        status.textContent = say(`${Math.round(100 * share)} %, ${seconds.toFixed(1)} s`, `${Math.round(100 * share)}%，${seconds.toFixed(1)} s`);
      });
      if (!found) {
        status.textContent = say("Stopped.", "已停止。");
        return;
      }
      bar.value = 1;
      await show(found, one, Boolean(text));
    } catch (problem) {
      status.textContent = problem.message;
    } finally {
      busy = false;
      go.disabled = false;
      stop.disabled = true;
    }
  }

  /** The reader's PTX in place of the kernel's. */
  function replaceKernel(given, text) {
    const entries = [...text.matchAll(/\.entry\s+([\w$]+)/g)].map((found) => found[1]);
    if (!entries.length) throw new Error(say("This text has no .entry: it is no PTX of a kernel.", "这段文字里没有 .entry，不是 kernel 的 PTX。"));
    given.modules = [...given.modules, text];
    given.launches = given.launches.map((launch) => ({
      ...launch,
      module: given.modules.length - 1,
      kernel: entries.includes(launch.kernel) ? launch.kernel : entries[0],
    }));
  }

  async function show(found, one, isOwn) {
    const of = found.kernels.find(({ symbol }) => symbol === one.launches[main(one)].kernel) || found.kernels.at(-1); // a reader's own may have another name
    const counts = of.counts;
    const [amount, requests] = counted(counts);
    const { allocation, hash } = result(one);
    const same = (await simulator.call("hash", { array: allocation })) === hash;
    status.textContent = say(
      `${grouped(counts.instructions)} warp instructions in ${found.seconds.toFixed(2)} s.`,
      `${grouped(counts.instructions)} 条 warp 指令，用时 ${found.seconds.toFixed(2)} s。`,
    );
    const rows = [
      [say("your prediction", "你的预测"), chosen.guess || "–"],
      [say("counted", "实际计数"), requests ? per(amount, requests) : say("no such request", "没有这种请求")],
      [
        say("C", "C"),
        same
          ? say("bit for bit as on the machine that built this page", "与构建本页的机器逐位相同")
          : isOwn
            ? say("not the bits that the variant above computes", "与上面那个版本算出的不逐位相同")
            : say("differs from what the machine that built this page computed", "与构建本页的机器算出的不同"),
      ],
      [say("reports", "报告"), found.reports.length ? String(found.reports.length) : say("none", "无")],
    ];
    verdict.replaceChildren(
      element("table", { class: "counts" }, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value))))),
      ...found.reports.map((report) => element("p", { class: "problem" }, `${report.kind}: ${report.message}`)),
      element("button", { type: "button", onclick: () => begin() }, say("Step through it", "单步执行")),
    );
    showCode(byLine(of));
    status.textContent += say(" A line number that is underlined shows a warp's requests.", "点击带下划线的行号，可看一个 warp 的请求。");
    if (chosen.line) await showRequests(chosen.line);
    place.dataset.counts = JSON.stringify(counts);
    place.dataset.same = same;
  }

  const file = () => launched().file;
  const launched = () => kernel.runs[chosen.size].launches[main(kernel.runs[chosen.size])];

  function byLine(of) {
    const lines = {};
    for (const { file: name, line, counts } of of.lines) {
      if (name.endsWith(file())) lines[line] = counts;
    }
    return lines;
  }

  /** The kernel's source, from its first counted line on or, before a run, from the kernel. */
  function showCode(lines) {
    const text = (kernel.sources[file()] || "").split("\n");
    const from = text.findIndex((line) => line.includes("__global__"));
    const to = text.findIndex((line, i) => i > from && line.startsWith("}"));
    const heads = [say("line", "行"), say("instructions", "指令"), say("sectors / request", "sector / 请求"), say("wavefronts / request", "wavefront / 请求"), say("code", "代码")];
    const used = Object.keys(lines).map(Number);
    const first = Math.max(0, Math.min(from, ...used.map((line) => line - 1)));
    const last = Math.max(to < 0 ? text.length - 1 : to, ...used.map((line) => line - 1));
    const rows = text.slice(first, last + 1).map((line, i) => {
      const counts = lines[first + i + 1];
      const global = counts && counts.global_load_requests + counts.global_store_requests;
      const shared = counts && counts.shared_load_requests + counts.shared_store_requests;
      return element(
        "tr",
        { "data-line": first + i + 1 },
        element("td", { class: "line" }, counts && (global || shared || counts.tma || counts.wgmma_wavefronts) ? element("button", { type: "button", class: "link", title: say("a warp's requests", "一个 warp 的请求"), onclick: () => showRequests(first + i + 1) }, String(first + i + 1)) : String(first + i + 1)),
        element("td", {}, counts ? grouped(counts.instructions) : ""),
        element("td", {}, counts ? per(counts.global_load_sectors + counts.global_store_sectors, global) : ""),
        element("td", {}, counts ? per(counts.shared_load_wavefronts + counts.shared_store_wavefronts, shared) : ""),
        element("td", {}, element("code", {}, line || " ")),
      );
    });
    code.replaceChildren(
      element(
        "div",
        { class: "scrolled", tabindex: 0, role: "group", "aria-label": say("the kernel's code", "kernel 的代码") },
        element("table", { class: "lines" }, element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, rows)),
      ),
    );
  }

  // --- one warp's requests ---

  /** What the lanes of one warp of the first block ask for in a line: the simulator runs its cluster again for that. */
  async function showRequests(line) {
    if (busy && !verdict.childElementCount) return;
    Object.assign(chosen, { line });
    remember();
    try {
      await simulator.call("open", { recorded: run(kernel, chosen.size), options: { seed: 0 } });
      const { warps } = await simulator.call("begin", { launch: main(kernel.runs[chosen.size]) });
      chosen.warp = Math.min(chosen.warp, warps - 1);
      const { kernels } = await simulator.ask({ do: "trace", warp: chosen.warp });
      const those = kernels[0].instructions.filter((each) => each.line === line && each.file.endsWith(file()));
      drawRequests(line, warps, those.flatMap(({ instruction, requests: all }) => all.map((request) => ({ instruction, request }))), kernels[0]);
    } catch (problem) {
      requests.replaceChildren(element("p", { class: "problem" }, problem.message));
    }
  }

  function drawRequests(line, warps, all, of) {
    let at = 0;
    const picture = element("div", {});
    const show = () => picture.replaceChildren(...(all.length ? requestParts(all[at], of) : [element("p", {}, say("This warp asks for nothing here.", "这个 warp 在这一行没有请求。"))]));
    const controls = element(
      "div",
      { class: "controls" },
      choice("warp", Array.from({ length: warps }, (_, warp) => [warp, warp]), chosen.warp, (value) => {
        chosen.warp = Number(value);
        showRequests(line);
      }),
      all.length > 1
        ? choice(say("Request", "请求"), all.map(({ instruction }, i) => [i, `${i + 1}: ${instruction}`]), 0, (value) => {
            at = Number(value);
            show();
          })
        : null,
    );
    requests.replaceChildren(element("h3", {}, say(`Line ${line}: one warp's requests`, `第 ${line} 行：一个 warp 的请求`)), controls, picture);
    place.dataset.requests = JSON.stringify(all.map(({ request }) => ({ sectors: request.global?.sectors, wavefronts: request.shared?.wavefronts })));
    show();
  }

  function requestParts({ instruction, request }, of) {
    const parts = [element("pre", {}, element("code", { tabindex: 0 }, instruction))];
    if (request.global) {
      const { address, sector, sectors, bytes, allocation } = request.global;
      const by = new Map();
      sector.forEach((each, lane) => each !== null && by.set(each, [...(by.get(each) || []), lane]));
      const where = of.allocations[allocation];
      parts.push(
        element("p", {}, say(`Global memory: ${bytes} bytes per lane, ${sectors} sectors of 32 bytes.`, `全局内存：每个 lane ${bytes} 字节，共 ${sectors} 个 32 字节的扇区。`)),
        element("p", { class: "sectors" }, [...by].sort((a, b) => a[0] - b[0]).map(([each, lanes]) => element("span", { title: say(`sector ${each}`, `扇区 ${each}`) }, `lane ${ranges(lanes)}`))),
        byLane(address, sector, say(`byte in array ${allocation}${where ? ` of ${grouped(where.bytes)} bytes` : ""}`, `数组 ${allocation} 中的字节`), say("sector", "扇区")),
      );
    }
    if (request.shared) {
      const { address, bank, bytes, groups, wavefronts, conflicts } = request.shared;
      parts.push(
        element("p", {}, say(`Shared memory: ${bytes} bytes per lane, wavefronts: ${wavefronts}, of which conflicts: ${conflicts}.`, `共享内存：每个 lane ${bytes} 字节，${wavefronts} 个 wavefront，其中冲突 ${conflicts} 个。`)),
        element(
          "div",
          { class: "bank-grid", role: "img", "aria-label": say("a row is 32 words, one in each bank; the numbers are lanes", "一行是 32 个字，每个 bank 一个；数字是 lane") },
          bankCells(lanesByWord(address, bytes)),
        ),
        element("ul", {}, groups.map(([first, last, count]) => element("li", {}, say(`lanes ${first} to ${last}: wavefronts ${count}`, `lane ${first} 到 ${last}：${count} 个 wavefront`)))),
        byLane(address, bank, say("byte in shared memory", "共享内存中的字节"), "bank"),
      );
    }
    if (request.copy) {
      const { lane, direction, box, shared, global } = request.copy;
      const lines = [say(`Lane ${lane} asks TMA for one ${direction}.`, `lane ${lane} 请 TMA 做一次 ${direction}。`)];
      if (box) lines.push(say(`Box: ${box.size.join("×")} elements of ${box.type} from (${box.start.join(", ")}), swizzle ${box.swizzle} bytes.`, `box：从 (${box.start.join(", ")}) 起 ${box.size.join("×")} 个 ${box.type} 元素，swizzle ${box.swizzle} 字节。`));
      if (global) lines.push(say(`${grouped(global.bytes)} bytes lie in the tensor.`, `其中 ${grouped(global.bytes)} 字节在张量之内。`));
      if (shared) lines.push(say(`In shared memory from byte ${shared.address}, of blocks ${shared.blocks.join(", ")} of the cluster.`, `落在共享内存第 ${shared.address} 字节起，cluster 的线程块 ${shared.blocks.join("、")}。`));
      parts.push(...lines.map((text) => element("p", {}, text)));
    }
    for (const name of ["a", "b"]) {
      const operand = request[name];
      if (!operand) continue;
      const read = operand.spans.reduce((sum, [, count]) => sum + count, 0);
      parts.push(element("p", {}, say(`${name.toUpperCase()} from shared memory: descriptor ${operand.descriptor}, ${grouped(read)} bytes from byte ${operand.start}, swizzle ${operand.swizzle} bytes, ${operand.major}-major.`, `${name.toUpperCase()} 来自共享内存：描述符 ${operand.descriptor}，第 ${operand.start} 字节起 ${grouped(read)} 字节，swizzle ${operand.swizzle} 字节，${operand.major}-major。`)));
    }
    return parts;
  }

  const byLane = (address, place_of, where, what) =>
    element(
      "div",
      { class: "scrolled", tabindex: 0, role: "group", "aria-label": say("by lane", "按 lane") },
      element(
        "table",
        { class: "registers" },
        element("tbody", {}, [["lane", address.map((_, lane) => lane)], [where, address], [what, place_of]].map(([name, values]) => element("tr", {}, element("th", { scope: "row" }, name), values.map((value) => element("td", {}, value === null ? "–" : String(value)))))),
      ),
    );

  // --- step by step ---

  async function begin() {
    const at = { warp: 0, block: 0 };
    const ptx = kernel.modules[launched().module].split("\n");
    try {
      await simulator.call("open", { recorded: run(kernel, chosen.size), options: { seed: 0 } });
      await simulator.call("begin", { launch: main(kernel.runs[chosen.size]) });
      draw(await simulator.ask({ do: "inspect", cluster: 0 }));
    } catch (problem) {
      stepper.replaceChildren(element("p", { class: "problem" }, problem.message));
    }

    async function move(request) {
      try {
        draw(await simulator.ask(request));
      } catch (problem) {
        stepper.append(element("p", { class: "problem" }, problem.message));
      }
    }

    async function draw(now) {
      const block = now.blocks[at.block];
      const warp = block.warps[at.warp];
      const line = (ptx[warp.ptx_line - 1] || "").trim();
      for (const row of code.querySelectorAll("tr[data-line]")) row.classList.toggle("here", Number(row.dataset.line) === warp.line);
      const button = (by, en, zh) =>
        element("button", { type: "button", disabled: now.over, onclick: () => move({ do: "step", by, ...at }) }, say(en, zh));
      const names = [...new Set(line.match(/%[a-z]+\d+/g) || [])].slice(0, 6);
      const registers = names.length ? await simulator.ask({ do: "registers", ...at, names }) : {};
      const focused = stepper.contains(document.activeElement) ? document.activeElement.textContent : null;
      const select = (label, count, key) =>
        choice(label, Array.from({ length: count }, (_, i) => [i, i]), at[key], (value) => {
          at[key] = Number(value);
          draw(now);
        });
      stepper.replaceChildren(
        element("h3", {}, say("Step by step", "单步执行")),
        element(
          "div",
          { class: "controls" },
          select(say("Block of the cluster", "cluster 内的线程块"), now.blocks.length, "block"),
          select("warp", block.warps.length, "warp"),
          button("instruction", "an instruction", "一条指令"),
          button("line", "a line", "一行"),
          button("turn", "until it waits", "直到它等待"),
          button("event", "until something is awaited, copied or complete", "直到下一个同步事件"),
          element("button", { type: "button", disabled: !now.can_go_back, onclick: () => move({ do: "back" }) }, say("back", "后退")),
        ),
        element("p", { role: "status" }, say(`${now.steps} instructions of all warps so far. `, `所有 warp 已执行 ${now.steps} 条指令。`), now.over ? say("The cluster has ended.", "这个 cluster 已结束。") : placeOf(warp)),
        element("pre", {}, element("code", { tabindex: 0 }, line || "–")),
        Object.keys(registers).length
          ? element(
              "div",
              { class: "scrolled", tabindex: 0, role: "group", "aria-label": say("registers by lane", "各 lane 的寄存器") },
              element(
                "table",
                { class: "registers" },
                element("tbody", {}, Object.entries(registers).map(([name, { lanes }]) => element("tr", {}, element("th", { scope: "row" }, name), lanes.map((value) => element("td", {}, String(value)))))),
              ),
            )
          : null,
        warpsOf(block),
        waitingOf(now, block),
        ...now.reports.map((report) => element("p", { class: "problem" }, `${report.kind}: ${report.message}`)),
      );
      if (focused) [...stepper.querySelectorAll("button")].find((each) => each.textContent === focused && !each.disabled)?.focus();
    }

    function placeOf(warp) {
      const words = say(`warp ${at.warp}${warp.words}`, "");
      if (words) return words;
      if (warp.state === "done") return `warp ${at.warp} 已结束`;
      return warp.state === "running" ? `warp ${at.warp} 在第 ${warp.line} 行` : `warp ${at.warp} 在第 ${warp.line} 行等待（${warp.words.replace(/^.* for /, "")}）`;
    }

    function warpsOf(block) {
      const letters = { running: "▶", waiting: "⏸", done: "■" };
      return element(
        "p",
        { class: "warps", "aria-label": say("warps of the block", "线程块的各个 warp") },
        block.warps.map((warp, i) => element("span", { class: warp.state, title: `warp ${i}${warp.words}` }, `${letters[warp.state]}${i}:${warp.line} `)),
      );
    }

    function waitingOf(now, block) {
      const lines = [
        ...block.barriers.map((each) => say(`barrier ${each.number}: ${each.arrived} of ${each.of} warps have come`, `barrier ${each.number}：${each.of} 个 warp 中已到 ${each.arrived} 个`)),
        ...block.mbarriers.map((each) =>
          say(
            `mbarrier at 0x${each.address.toString(16)}: phase ${each.phase}, ${each.pending} of ${each.of} arrivals missing, ${-each.bytes} bytes missing`,
            `0x${each.address.toString(16)} 处的 mbarrier：phase ${each.phase}，${each.of} 次到达中还缺 ${each.pending} 次，还缺 ${-each.bytes} 字节`,
          ),
        ),
        ...now.copies.filter((each) => !each.landed).map((each) => say(`under way: ${each.instruction} by ${each.by}`, `进行中：${each.by} 的 ${each.instruction}`)),
      ];
      return element("ul", {}, lines.slice(0, 24).map((text) => element("li", {}, text)));
    }
  }

  load();
});
