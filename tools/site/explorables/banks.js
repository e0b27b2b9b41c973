// Bank lab: how a warp's addresses fall on the 32 banks. The wavefronts are the simulator's own.
"use strict";

explorables.define("banks", (place, from) => {
  const { say, element, choice, number, keep, Simulator } = explorables;
  const bounded = (text, least, most, otherwise) => {
    const value = Number(text);
    return text !== undefined && Number.isInteger(value) && value >= least && value <= most ? value : otherwise;
  };
  const chosen = {
    bytes: [4, 8, 16].includes(Number(from.bytes)) ? Number(from.bytes) : 4,
    across: [1, 2, 4, 8, 16, 32].includes(Number(from.across)) ? Number(from.across) : 1,
    pitch: bounded(from.pitch, 1, 128, 32),
    xor: bounded(from.xor, 0, 3, 0),
    store: from.store === "yes" ? "yes" : "no",
    guess: from.guess || "",
  };
  let simulator = null;

  const controls = element("div", { class: "controls" });
  const guess = element("input", { type: "text", inputmode: "numeric", size: 4, value: chosen.guess, onkeydown: (event) => event.key === "Enter" && check() });
  const status = element("p", { role: "status", "aria-live": "polite" });
  const picture = element("div", {});

  const addresses = () =>
    Array.from({ length: 32 }, (_, lane) => {
      const row = Math.floor(lane / chosen.across);
      const within = (lane % chosen.across) * chosen.bytes;
      const turned = (Math.floor(within / 16) ^ (row & ((1 << chosen.xor) - 1))) * 16 + (within % 16);
      const address = row * chosen.pitch * 4 + turned;
      return address - (address % chosen.bytes); // vectors are aligned
    });

  function changed() {
    keep("banks", chosen);
    status.textContent = say("Predict, then check.", "先预测，再检查。");
    delete place.dataset.wavefronts;
    draw(null);
  }

  function build() {
    const set = (key, convert = Number) => (value) => {
      chosen[key] = convert(value);
      changed();
    };
    controls.replaceChildren(
      choice(say("Each lane takes", "每个 lane 取"), [4, 8, 16].map((bytes) => [bytes, say(`${bytes} bytes`, `${bytes} 字节`)]), chosen.bytes, set("bytes")),
      choice(
        say("Lanes lie", "lane 排成"),
        [32, 16, 8, 4, 2, 1].map((across) => [across, across === 1 ? say("down one column", "一列") : say(`${32 / across} × ${across} (rows × columns)`, `${32 / across} 行 × ${across} 列`)]),
        chosen.across,
        set("across"),
      ),
      number(say("Words from row to row", "行距（字）"), chosen.pitch, 1, 128, set("pitch")),
      choice(say("Chunks of 16 bytes XORed with", "16 字节块与之异或："), [[0, say("nothing", "不异或")], [1, say("the row's last bit", "行号末 1 位")], [2, say("its last 2 bits", "末 2 位")], [3, say("its last 3 bits", "末 3 位")]], chosen.xor, set("xor")),
      choice(say("It is a", "这是一次"), [["no", say("load", "load")], ["yes", say("store", "store")]], chosen.store, set("store", String)),
    );
  }

  /** The rows of shared memory that are touched, a word a cell, with the lanes that touch it. */
  function draw(answer) {
    const words = new Map();
    addresses().forEach((address, lane) => {
      for (let byte = 0; byte < chosen.bytes; byte += 4) {
        const word = (address + byte) / 4;
        words.set(word, [...(words.get(word) || []), lane]);
      }
    });
    const rows = [...new Set([...words.keys()].map((word) => Math.floor(word / 32)))].sort((a, b) => a - b).slice(0, 32);
    picture.replaceChildren(
      element(
        "div",
        { class: "bank-grid", role: "img", "aria-label": say("a row is 32 words, one in each bank; the numbers are lanes", "一行是 32 个字，每个 bank 一个；数字是 lane") },
        rows.flatMap((row) => Array.from({ length: 32 }, (_, bank) => {
          const lanes = words.get(row * 32 + bank);
          return element("span", { class: lanes ? "used" : "", title: `bank ${bank}` + (lanes ? `, lane ${lanes.join(", ")}` : "") }, lanes ? String(lanes[0]) : "");
        })),
      ),
      element("p", {}, say("Each column is a bank, each row 128 bytes; a number is the first lane that touches the word.", "每列是一个 bank，每行 128 字节；数字是访问该字的第一个 lane。")),
      answer
        ? element(
            "ul",
            {},
            answer.groups.map(([first, last, wavefronts]) => element("li", {}, say(`lanes ${first} to ${last}: wavefronts ${wavefronts}`, `lane ${first} 到 ${last}：${wavefronts} 个 wavefront`))),
          )
        : null,
    );
  }

  async function check() {
    if (!/^\d+$/.test(guess.value.trim())) {
      status.textContent = say("Write a whole number first: how many wavefronts?", "请先写一个整数：几个 wavefront？");
      guess.focus();
      return;
    }
    chosen.guess = guess.value.trim();
    keep("banks", chosen);
    status.textContent = say("Loading the simulator …", "正在加载模拟器……");
    try {
      simulator ||= await Simulator.start();
      const answer = await simulator.ask({ do: "wavefronts", bytes: chosen.bytes, store: chosen.store === "yes", addresses: addresses() });
      const right = Number(chosen.guess) === answer.wavefronts;
      status.textContent =
        say(`Wavefronts: ${answer.wavefronts}. You predicted ${chosen.guess}`, `wavefront 数：${answer.wavefronts}。你预测的是 ${chosen.guess}`) +
        (right ? say(": right.", "，正确。") : say(".", "。")) +
        (answer.conflicts ? say(` More than without conflicts by ${answer.conflicts}.`, `比没有冲突时多 ${answer.conflicts} 个。`) : say(" No conflict.", " 没有冲突。"));
      place.dataset.wavefronts = answer.wavefronts;
      draw(answer);
    } catch (problem) {
      status.textContent = problem.message;
    }
  }

  place.append(
    element("h2", {}, say("Bank lab", "bank 实验台")),
    element("p", {}, say("A warp accesses a tile in shared memory. How many wavefronts does it take?", "一个 warp 访问共享内存里的一个分块。要几个 wavefront？")),
    controls,
    element("div", { class: "controls" }, element("label", {}, say("Your prediction ", "你的预测 "), guess), element("button", { type: "button", onclick: check }, say("Check", "检查"))),
    status,
    picture,
  );
  build();
  draw(null);
});
