// Digits: numbers as narrow types hold them, and their products as the tensor core adds them, bit by bit. What is held, kept
// and added are the simulator's and the course's own functions (tools/site/wasm/course.cpp); only exact sums are made here.
"use strict";

explorables.define("digits", (place, from) => {
  const { say, element, choice, keep, Simulator } = explorables;
  // How many bits sign, exponent and fraction have.
  const TYPES = { f16: [1, 5, 10], bf16: [1, 8, 7], tf32: [1, 8, 10], e4m3: [1, 4, 3], e5m2: [1, 5, 2], digits: [1, 8, 23] };
  const NAMES = { f16: "FP16", bf16: "BF16", tf32: "TF32", e4m3: "FP8 e4m3", e5m2: "FP8 e5m2", digits: say("three digits", "三个数位") };
  const MOST = 64;
  const FLOATS = Object.keys(TYPES).slice(0, 5);
  const chosen = { type: TYPES[from.type] ? from.type : "e4m3", row: from.row || "256 1 0.03125 0.015625 0.015625", times: from.times || "", guess: from.guess || "" };
  let simulator = null;

  const entered = (event) => event.key === "Enter" && check();
  const row = element("input", { type: "text", size: 30, value: chosen.row, onkeydown: entered });
  const times = element("input", { type: "text", size: 16, value: chosen.times, placeholder: "1 1 1 …", onkeydown: entered });
  const guess = element("input", { type: "text", inputmode: "decimal", size: 10, value: chosen.guess, onkeydown: entered });
  const status = element("p", { role: "status", "aria-live": "polite" });
  const shown = element("div", {});

  function numbers(text) {
    const words = text.trim().split(/[\s,;，；]+/).filter(Boolean);
    const made = words.map(Number);
    const bad = words.find((_, i) => !Number.isFinite(made[i]));
    if (bad !== undefined) throw new Error(say(`'${bad}' is no number`, `“${bad}”不是数`));
    return made;
  }

  function rows() {
    const a = numbers(row.value);
    const b = numbers(times.value);
    if (!a.length || a.length > MOST) throw new Error(say(`Write 1 to ${MOST} numbers.`, `请写 1 到 ${MOST} 个数。`));
    if (b.length && b.length !== a.length) throw new Error(say(`There are ${a.length} numbers and ${b.length} factors: write as many of each, or no factors.`, `有 ${a.length} 个数、${b.length} 个因子：两行要一样多，或者不写因子。`));
    return [a, b.length ? b : a.map(() => 1)];
  }

  // --- exact numbers: integers times 2^-UNIT ---

  const UNIT = 400;
  /** A finite double, exactly: all that are made here are multiples of 2^-400. */
  function exactly(value) {
    let power = 0;
    while (value % 1 !== 0 && power < UNIT) (value *= 2), ++power;
    return BigInt(Math.trunc(value)) << BigInt(UNIT - power);
  }
  const size = (exact) => (exact < 0n ? -exact : exact);
  const exponentOf = (exact) => size(exact).toString(2).length - 1 - UNIT;
  const nearest = (exact) => Number(exact) * 2 ** -UNIT;
  const trailing = (exact) => /0*$/.exec(size(exact).toString(2))[0].length - UNIT;
  /** Bits of a size between two exponents. */
  const bitsOf = (exact, high, low) => (low > high ? "" : (size(exact) >> BigInt(UNIT + low)).toString(2).padStart(high - low + 1, "0"));

  // --- one addition of the tensor core ---

  function addition(step, number, of) {
    const lowest = step.top - step.fraction;
    const used = step.addends.map((each) => ({ ...each, exact: exactly(each.value), held: exactly(each.kept) })).filter(({ exact }) => exact !== 0n);
    if (!used.length || ![step.before, ...step.addends.map(({ kept }) => kept)].every(Number.isFinite)) return [];
    const before = exactly(step.before);
    const sum = used.reduce((all, { exact }) => all + exact, 0n);
    const high = Math.max(step.top + 1, ...[before, sum].filter((each) => each !== 0n).map(exponentOf));
    const last = Math.max(Math.min(...used.map(({ exact }) => trailing(exact))), lowest - 30);
    const line = (name, whole, kept, css) => {
      const upper = bitsOf(kept, high, lowest);
      const zeros = /^0*/.exec(upper)[0].length;
      const below = bitsOf(size(whole) - size(kept), lowest - 1, last).replace(/0+$/, "");
      return element(
        "tr",
        { class: css },
        element("th", { scope: "row" }, name),
        element("td", {}, element("code", {}, whole < 0n ? "−" : "+", element("span", { class: "leading" }, upper.slice(0, zeros)), upper.slice(zeros))),
        element("td", {}, element("code", { class: "cut" }, below)),
      );
    };
    const result = exactly(step.result);
    const body = [
      ...used.map((each) => line("a" in each ? (each.b === 1 ? String(each.a) : `${each.a} × ${each.b}`) : say("the sum so far", "此前的和"), each.exact, each.held, "")),
      line(say("sum of what is kept", "保留部分之和"), before, before, "sum"),
      line(say("result", "结果"), result, result, "sum"),
      line(say("exact", "精确值"), sum, (size(sum) >> BigInt(UNIT + lowest)) << BigInt(UNIT + lowest), "sum"),
    ];
    const title = of > 1 ? say(`Instruction ${number + 1} of ${of}`, `第 ${number + 1} 条指令，共 ${of} 条`) : say("Bit by bit", "逐位");
    return [
      element("h3", {}, title),
      element(
        "p",
        {},
        say(
          `The largest addend has exponent ${step.top}. Of each addend ${step.fraction} fraction bits are kept below it; what lies further down is cut off. The first column is 2^${high}.`,
          `最大加数的指数是 ${step.top}。每个加数在它以下保留 ${step.fraction} 位小数，更低的位被截掉。第一列是 2^${high}。`,
        ),
      ),
      scrolled(
        say("the addends and their bits", "各加数及其位"),
        element("table", { class: "bits" }, element("thead", {}, element("tr", {}, [say("addend", "加数"), say("kept", "保留"), say("cut off", "截掉")].map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, body)),
      ),
    ];
  }

  const scrolled = (label, ...inside) => element("div", { class: "scrolled", tabindex: 0, role: "group", "aria-label": label }, ...inside);

  const pairs = (rowsOf) => element("table", { class: "counts" }, element("tbody", {}, rowsOf.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, String(value))))));

  function bits({ bits: value, count }) {
    const type = TYPES[chosen.type];
    const text = (value >>> 0).toString(2).padStart(count, "0").slice(0, type[0] + type[1] + type[2]);
    return [text.slice(0, type[0]), text.slice(type[0], type[0] + type[1]), text.slice(type[0] + type[1])].join(" ");
  }

  /** Every number of the first row in every type. */
  async function inTypes(a, held, split) {
    const each = await Promise.all(FLOATS.map((type) => simulator.call("rounded", { type, numbers: a })));
    const inDigits = (i) => element("td", {}, `${split.a.digits[i].join(" ")}`);
    const heads = [say("written", "写下的"), say("sign, exponent, fraction", "符号 指数 尾数"), ...FLOATS.map((type) => NAMES[type]), NAMES.digits];
    return scrolled(
      say("the numbers in each type", "各数在每种类型里"),
      element(
        "table",
        { class: "types" },
        element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, a.map((value, i) => element("tr", {}, element("td", {}, String(value)), element("td", {}, element("code", {}, bits(held[i]))), each.map((all) => element("td", {}, String(all[i].value))), inDigits(i)))),
      ),
    );
  }

  async function check() {
    Object.assign(chosen, { row: row.value.trim(), times: times.value.trim(), guess: guess.value.trim() });
    keep("digits", chosen);
    delete place.dataset.sum;
    try {
      const given = rows();
      if (!chosen.guess) {
        guess.focus();
        throw new Error(say("Write what you expect first: the sum as the tensor core gives it.", "请先写下预期：Tensor Core 给出的和。"));
      }
      status.textContent = say("Loading the simulator …", "正在加载模拟器……");
      simulator ||= await Simulator.start();
      const whole = chosen.type === "digits";
      const type = whole ? "f32" : chosen.type;
      const held = await Promise.all(given.map((numbersOf) => simulator.call("rounded", { type, numbers: numbersOf })));
      const [a, b] = held.map((all) => all.map(({ value }) => value));
      const finite = [...a, ...b].every(Number.isFinite);
      const split = await simulator.call("digits", { a, b });
      const byCore = await simulator.call("dot", { type: whole ? "tf32" : type, a, b });
      const exact = finite ? a.reduce((sum, each, i) => sum + exactly(each) * exactly(b[i]), 0n) >> BigInt(UNIT) : null;
      const sum = whole ? split.result : byCore.result;
      status.textContent = say(`The tensor core gives ${sum}.`, `Tensor Core 的结果是 ${sum}。`);
      const [high, middle, low] = split.sums;
      shown.replaceChildren(
        pairs([
          [say("your prediction", "你的预测"), chosen.guess],
          [say("tensor core", "Tensor Core"), sum],
          [say("FP32, one FMA after the other", "FP32，逐个 FMA"), byCore.inOrder],
          [say("exact, of what the type holds", "按类型所存的数，精确值"), exact === null ? "–" : nearest(exact)],
          ...(whole ? [[say("the sums of digits, by weight", "各权重的数位乘积之和"), `2³² · ${high} + 2²⁴ · ${middle} + 2¹⁶ · ${low}`], [say("power of two of the integers", "整数的 2 的幂"), `2^${-split.a.shift - split.b.shift}`]] : []),
        ]),
        ...(whole ? [] : byCore.steps.flatMap((step, i) => addition(step, i, byCore.steps.length))),
        element("h3", {}, say("The row in each type", "这一行在每种类型里")),
        await inTypes(given[0], held[0], split),
      );
      place.dataset.sum = sum;
    } catch (problem) {
      status.textContent = problem.message;
      shown.replaceChildren();
    }
  }

  place.append(
    element("h2", {}, say("Digits", "数位")),
    element(
      "p",
      {},
      say(
        "Write a row of numbers, and if you like their factors. The type rounds each of them. Then the tensor core adds their products, as many at once as one instruction takes: 16 of FP16 and BF16, 8 of TF32, 32 of FP8 (wgmma). Three digits are step 32's integers.",
        "写一行数，也可以再写一行因子。类型先把每个数舍入。然后 Tensor Core 把乘积加起来，一条指令一次加多少个取决于类型：FP16 和 BF16 是 16 个，TF32 是 8 个，FP8（wgmma）是 32 个。“三个数位”是步骤 32 用的整数，每个由三个 8 位的数位组成。",
      ),
    ),
    element(
      "div",
      { class: "controls" },
      choice(say("Type", "类型"), Object.keys(TYPES).map((type) => [type, NAMES[type]]), chosen.type, (value) => {
        chosen.type = value;
        keep("digits", chosen);
        status.textContent = say("Predict, then check.", "先预测，再检查。");
        shown.replaceChildren();
      }),
      element("label", {}, say("The row ", "这一行 "), row),
      element("label", {}, say("times ", "乘以 "), times),
      element("label", {}, say("Your prediction of the sum ", "你预测的和 "), guess),
      element("button", { type: "button", onclick: check }, say("Add up", "相加")),
    ),
    status,
    shown,
  );
});
