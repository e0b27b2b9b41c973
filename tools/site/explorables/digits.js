// Digits: numbers as narrow types hold them, and their sum as the tensor core adds it.
"use strict";

explorables.define("digits", (place, from) => {
  const { say, element, choice, keep, Simulator } = explorables;
  // How many bits sign, exponent and fraction have.
  const TYPES = { f16: [1, 5, 10], bf16: [1, 8, 7], tf32: [1, 8, 10], e4m3: [1, 4, 3], e5m2: [1, 5, 2] };
  const NAMES = { f16: "FP16", bf16: "BF16", tf32: "TF32", e4m3: "FP8 (e4m3)", e5m2: "FP8 (e5m2)" };
  const MOST = 64;
  const chosen = { type: TYPES[from.type] ? from.type : "f16", row: from.row || "2048 1 1 0.1 -2048", guess: from.guess || "" };
  let simulator = null;

  const row = element("input", { type: "text", size: 32, value: chosen.row, "aria-label": say("the row of numbers", "一行数") });
  const guess = element("input", { type: "text", inputmode: "decimal", size: 10, value: chosen.guess, onkeydown: (event) => event.key === "Enter" && check() });
  const status = element("p", { role: "status", "aria-live": "polite" });
  const shown = element("div", {});

  function numbers() {
    const words = row.value.trim().split(/[\s,;，；]+/).filter(Boolean);
    const made = words.map(Number);
    const bad = words.find((_, i) => !Number.isFinite(made[i]));
    if (bad !== undefined) throw new Error(say(`'${bad}' is no number`, `“${bad}”不是数`));
    if (!made.length || made.length > MOST) throw new Error(say(`Write 1 to ${MOST} numbers.`, `请写 1 到 ${MOST} 个数。`));
    return made;
  }

  function bits({ bits: value, count }) {
    const type = TYPES[chosen.type];
    const text = (value >>> 0).toString(2).padStart(count, "0").slice(0, type[0] + type[1] + type[2]);
    return [text.slice(0, type[0]), text.slice(type[0], type[0] + type[1]), text.slice(type[0] + type[1])].join(" ");
  }

  async function check() {
    chosen.row = row.value;
    chosen.guess = guess.value.trim();
    keep("digits", chosen);
    try {
      const given = numbers();
      if (!chosen.guess) {
        guess.focus();
        throw new Error(say("Write what you expect first: the sum as the tensor core gives it.", "请先写下预期：tensor core 给出的和。"));
      }
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      simulator ||= await Simulator.start();
      const held = await simulator.call("rounded", { type: chosen.type, numbers: given });
      const values = held.map((each) => each.value);
      const exact = values.reduce((sum, each) => sum + each, 0);
      const inOrder = values.reduce((sum, each) => Math.fround(sum + each), 0);
      const adds = !chosen.type.startsWith("e"); // mma of FP8 is Hopper's wgmma alone
      const byCore = adds ? await simulator.call("sum", { type: chosen.type, numbers: given, c: 0 }) : null;
      const rows = [
        [say("your prediction", "你的预测"), chosen.guess],
        [say("tensor core", "tensor core"), adds ? String(byCore) : say("FP8 is added by wgmma alone, which is not tried here", "FP8 只有 wgmma 能加，这里不试")],
        [say("FP32, one after the other", "FP32 逐个相加"), String(inOrder)],
        [say("the exact sum of what the type holds (in FP64)", "该类型所存数值之和（FP64）"), String(exact)],
      ];
      status.textContent = adds ? say(`The tensor core gives ${byCore}.`, `tensor core 的结果是 ${byCore}。`) : "";
      shown.replaceChildren(
        element("table", { class: "counts" }, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value))))),
        element(
          "div",
          { class: "scrolled", tabindex: 0, role: "group", "aria-label": say("the numbers and their bits", "各数及其位") },
          element(
            "table",
            {},
            element("thead", {}, element("tr", {}, [say("written", "写下的"), say("held", "存下的"), say("sign, exponent, fraction", "符号 指数 尾数")].map((head) => element("th", { scope: "col" }, head)))),
            element("tbody", {}, held.map((each, i) => element("tr", {}, element("td", {}, String(given[i])), element("td", {}, String(each.value)), element("td", {}, element("code", {}, bits(each)))))),
          ),
        ),
      );
      place.dataset.sum = byCore;
    } catch (problem) {
      status.textContent = problem.message;
    }
  }

  place.append(
    element("h2", {}, say("Digits", "数位")),
    element(
      "p",
      {},
      say(
        "Write a row of numbers. The type rounds each of them; then the tensor core adds them, several at once, and cuts off what lies too far behind the largest. The row is multiplied by ones.",
        "写一行数。类型先把每个数舍入；然后 tensor core 一次加好几个，比最大者低太多的位被截掉。这一行数都乘以 1。",
      ),
    ),
    element(
      "div",
      { class: "controls" },
      choice(say("Type", "类型"), Object.keys(TYPES).map((type) => [type, NAMES[type]]), chosen.type, (value) => {
        chosen.type = value;
        keep("digits", chosen);
      }),
      row,
      element("label", {}, say("Your prediction of the sum ", "你预测的和 "), guess),
      element("button", { type: "button", onclick: check }, say("Add up", "相加")),
    ),
    status,
    shown,
  );
});
