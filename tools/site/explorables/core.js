// What the explorables on a page share: words in two languages, the state in the address, elements, and the simulator in
// a worker. Each explorable is a function explorables.define(name, make); a page has <div class="explorable" data-explorable="NAME">.
"use strict";

window.explorables = (() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const chinese = document.documentElement.lang.startsWith("zh");
  const makers = {};

  /** One of two texts, by the page's language. */
  const say = (en, zh) => (chinese ? zh : en);

  /** An element: attributes, then children; what begins with "on" is listened to. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** A labelled choice. `options`: pairs of value and text. */
  function choice(label, options, chosen, changed) {
    const select = element(
      "select",
      { onchange: () => changed(select.value) },
      options.map(([value, text]) => element("option", { value, selected: String(value) === String(chosen) }, text)),
    );
    return element("label", {}, label + " ", select);
  }

  /** A labelled whole number. */
  function number(label, value, least, most, changed) {
    const input = element("input", {
      type: "number",
      value,
      min: least,
      max: most,
      onchange: () => {
        const wanted = Math.round(Number(input.value));
        const taken = Math.min(most, Math.max(least, Number.isFinite(wanted) ? wanted : least));
        input.value = taken;
        changed(taken);
      },
    });
    return element("label", {}, label + " ", input);
  }

  /** A labelled slider over some values: dragged with a mouse or a finger, moved by arrow keys. `words`: a value as text. */
  function slider(label, values, chosen, words, changed) {
    const shown = element("span", { class: "value", "aria-hidden": "true" }, words(chosen));
    const input = element("input", {
      type: "range",
      min: 0,
      max: values.length - 1,
      value: values.indexOf(chosen),
      "aria-valuetext": words(chosen),
      oninput: () => {
        const value = values[Number(input.value)];
        shown.textContent = words(value);
        input.setAttribute("aria-valuetext", words(value));
        changed(value);
      },
    });
    return element("label", { class: "slider" }, element("span", {}, label), input, shown);
  }

  const grouped = (value) => Math.round(value).toLocaleString("en-US");
  const per = (amount, requests) => (requests ? (amount / requests).toFixed(2) : "");

  /** Whole numbers in order as text: neighbours as a range. */
  function ranges(numbers) {
    const ends = [];
    for (const each of numbers) ends.length && ends.at(-1)[1] === each - 1 ? (ends.at(-1)[1] = each) : ends.push([each, each]);
    return ends.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
  }

  const BANKS = 32;
  /**
   * Words of shared memory, given as the lanes that touch each: a row has 32 of them, one in each bank. At most 32 rows are
   * drawn, those that are touched. `kind`: the class of a word's cell.
   */
  function bankCells(words, kind = () => "used") {
    const rows = [...new Set([...words.keys()].map((word) => Math.floor(word / BANKS)))].sort((a, b) => a - b).slice(0, 32);
    return rows.flatMap((row) =>
      Array.from({ length: BANKS }, (_, bank) => {
        const lanes = words.get(row * BANKS + bank);
        return element("span", { class: lanes ? kind(row * BANKS + bank) : "", "data-lane": lanes ? lanes[0] : null, title: `bank ${bank}` + (lanes ? `, lane ${ranges(lanes)}` : "") }, lanes ? String(lanes[0]) : "");
      }),
    );
  }

  /** The lanes that touch each word of shared memory, where lane i has so many bytes at addresses[i], or takes no part. */
  function lanesByWord(addresses, bytes) {
    const words = new Map();
    addresses.forEach((from, lane) => {
      for (let byte = 0; from !== null && byte < bytes; byte += 4) {
        const word = Math.floor((from + byte) / 4);
        words.set(word, [...(words.get(word) || []), lane]);
      }
    });
    return words;
  }

  // --- the state in the address: #explore-NAME?key=value&… ---

  function state(name) {
    const [anchor, query] = location.hash.slice(1).split("?");
    return anchor === `explore-${name}` ? Object.fromEntries(new URLSearchParams(query)) : {};
  }

  function keep(name, values) {
    const hash = `#explore-${name}?${new URLSearchParams(values)}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
  }

  // --- scripts and the simulator ---

  const loading = {};
  function script(path) {
    return (loading[path] ||= new Promise((resolve, reject) => {
      const failed = () => {
        delete loading[path];
        reject(new Error(say(`${path} could not be loaded`, `无法加载 ${path}`)));
      };
      document.head.append(element("script", { src: here + path, onload: resolve, onerror: failed }));
    }));
  }

  /** Why the simulator does not run in this browser. */
  const unable = () =>
    new Error(
      say(
        "This browser has no WebAssembly (with SIMD and exceptions) or no workers, so the simulator cannot run in it. The page's text needs neither.",
        "这个浏览器没有 WebAssembly（含 SIMD 与异常处理）或 Worker，模拟器无法在其中运行。页面的文字不需要它们。",
      ),
    );

  let wasm = null;
  /** The bytes of the WebAssembly: a worker of a page that was opened as a file takes no compiled module. */
  function bytesOfModule() {
    return (wasm ||= (async () => {
      if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") throw unable();
      await script("simulator.js");
      if (location.protocol !== "file:") {
        try {
          const answer = await fetch(here + "ptxsim.wasm");
          if (answer.ok) return await answer.arrayBuffer();
        } catch {
          // as a script, below
        }
      }
      await script("ptxsim.wasm.js");
      const bytes = Uint8Array.from(atob(explorables.wasm), (letter) => letter.charCodeAt(0));
      delete explorables.wasm;
      return bytes.buffer;
    })().catch((problem) => {
      wasm = null;
      throw problem;
    }));
  }

  /** The simulator in a worker of its own. */
  class Simulator {
    static async start() {
      const made = new Simulator();
      const bytes = await bytesOfModule();
      const Started = Worker.native || Worker; // worker.js replaces it where there is no server
      try {
        made.worker = new Started(URL.createObjectURL(new Blob([explorables.worker], { type: "text/javascript" })));
      } catch {
        throw unable(); // a browser may have workers and start none
      }
      made.waiting = new Map();
      made.worker.onmessage = ({ data }) => {
        const waiting = made.waiting.get(data.id);
        if (!waiting) return;
        if (data.progress) return waiting.progress(data.progress);
        made.waiting.delete(data.id);
        data.error ? waiting.reject(new Error(data.error)) : waiting.resolve(data.answer);
      };
      made.worker.onerror = (event) => made.fail(event.message);
      const loaded = await made.call("load", { wasm: bytes });
      if (!loaded.unable) return made;
      made.end();
      throw unable();
    }

    fail(message) {
      for (const { reject } of this.waiting.values()) reject(new Error(message || say("the simulator has stopped", "模拟器停止了")));
      this.waiting.clear();
    }

    call(what, rest = {}, progress = () => {}) {
      const id = (this.last = (this.last || 0) + 1);
      return new Promise((resolve, reject) => {
        this.waiting.set(id, { resolve, reject, progress });
        this.worker.postMessage({ id, do: what, ...rest });
      });
    }

    ask(request) {
      return this.call("ask", { request });
    }

    end() {
      this.worker.terminate();
      this.fail(say("stopped", "已停止"));
    }
  }

  const kernels = {};
  /** Called by the files in kernels/ and mistakes/. */
  function kernel(recorded) {
    kernels[`${recorded.step}.${recorded.variant}`] = recorded;
  }
  async function recorded(folder, step, variant) {
    const key = `${step}.${variant}`;
    if (!kernels[key]) await script(`${folder}/${key}.js`);
    return kernels[key];
  }
  /** A run as the worker opens it. */
  function run(of, index) {
    const { allocations, launches, multiprocessors } = of.runs[index];
    return { modules: of.modules, allocations, launches, multiprocessors };
  }
  /** The number of the last launch of a run that changed an array: those of step 33 behind it may have nothing to do. */
  const main = (one) => one.launches.reduce((last, { results }, i) => (results.length ? i : last), one.launches.length - 1);
  /** The array that it changed: C. */
  const result = (one) => one.launches[main(one)].results[0];

  function start() {
    for (const place of document.querySelectorAll("div.explorable")) {
      const name = place.dataset.explorable;
      if (!makers[name] || place.dataset.made) continue;
      place.dataset.made = "yes";
      place.id = `explore-${name}`;
      place.setAttribute("role", "region");
      try {
        makers[name](place, { ...state(name) });
      } catch (problem) {
        place.append(element("p", { class: "problem" }, String(problem.message)));
      }
      if (location.hash.startsWith(`#explore-${name}?`)) place.scrollIntoView();
    }
  }
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();

  return {
    define: (name, make) => (makers[name] = make),
    ...{ chinese, say, element, choice, number, slider, grouped, per, ranges, bankCells, lanesByWord, state, keep, script, Simulator, kernel, recorded, run, main, result },
  };
})();
