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
      element("pre", {}, element("code", {}, element("del", {}, one.before), one.after ? element("ins", {}, `\n${one.after}`) : null)),
      element("p", {}, `${one.m}×${one.n}×${one.k}`),
    );
  }

  const remember = () => keep("break", chosen);

  async function runOnce(given, seed) {
    await simulator.call("open", { recorded: { modules: kernel.modules, ...given }, options: { seed } });
    const summary = await simulator.call("run");
    return { reports: summary.reports, bytes: await simulator.call("bytes", { array: given.array }) };
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
              ),
            ),
            got.reports.map((report) => element("p", { class: "problem" }, `${report.kind}: ${report.message}`)),
          ),
        );
      }
      found.querySelector("details").open = true;
      const outcome = reported ? (wrong ? "both" : "report") : wrong ? "wrong" : "nothing";
      const words = Object.fromEntries(guesses())[outcome];
      status.textContent =
        say(`What happened: ${words}. `, `结果：${words}。`) +
        (outcome === chosen.guess ? say("You predicted it.", "你预测对了。") : say("You predicted something else.", "与你的预测不同。")) +
        (outcome === "report" ? say(" A test that compares C alone would have passed.", " 只比较 C 的测试会通过。") : "") +
        (outcome === "wrong" ? say(" Every access is ordered and within bounds; only the numbers are wrong.", " 每次访问都有序、都不越界，只是数值错了。") : "");
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
