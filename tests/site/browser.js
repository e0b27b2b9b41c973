// A page in headless Chromium, by its own protocol: what a person does with it.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png" };

/** Serves a folder on this machine; the server has its address as `root`. */
function serve(folder) {
  const server = http.createServer((request, answer) => {
    const file = path.join(folder, decodeURIComponent(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
    fs.readFile(file, (problem, data) => {
      answer.writeHead(problem ? 404 : 200, { "Content-Type": TYPES[path.extname(file)] || "application/octet-stream" });
      answer.end(problem ? "" : data);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => ((server.root = `http://127.0.0.1:${server.address().port}`), resolve(server))));
}

/** The value behind a word of the command line. */
const option = (name, otherwise) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise);

class Browser {
  static async start(program) {
    const made = new Browser();
    made.folder = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"));
    const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", "--no-first-run", "--disable-dev-shm-usage"];
    made.process = spawn(program, [...options, `--user-data-dir=${made.folder}`, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
    const address = await new Promise((resolve, reject) => {
      let text = "";
      made.process.stderr.on("data", (part) => {
        text += part;
        const found = /DevTools listening on (ws:\S+)/.exec(text);
        if (found) resolve(found[1]);
      });
      made.process.on("exit", () => reject(new Error(`the browser ended: ${text.slice(-400)}`)));
      setTimeout(() => reject(new Error("the browser does not start")), 60000);
    });
    made.port = new URL(address).port;
    return made;
  }

  async page() {
    const answer = await fetch(`http://127.0.0.1:${this.port}/json/new?about:blank`, { method: "PUT" });
    const page = new Page();
    await page.attach((await answer.json()).webSocketDebuggerUrl);
    return page;
  }

  end() {
    this.process.removeAllListeners("exit");
    this.process.kill();
    this.process.on("exit", () => fs.rmSync(this.folder, { recursive: true, force: true }));
  }
}

class Page {
  async attach(address) {
    this.waiting = new Map();
    this.last = 0;
    this.problems = [];
    this.socket = new WebSocket(address);
    await new Promise((resolve, reject) => ((this.socket.onopen = resolve), (this.socket.onerror = reject)));
    this.socket.onmessage = ({ data }) => this.heard(JSON.parse(data));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.call(`${domain}.enable`);
  }

  heard({ id, result, error, method, params }) {
    if (id) {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      return error ? reject(new Error(error.message)) : resolve(result);
    }
    if (method === "Page.loadEventFired") this.loaded && this.loaded();
    if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") this.problems.push(`${params.entry.text} ${params.entry.url || ""}`);
    if (method === "Runtime.consoleAPICalled" && params.type === "error") this.problems.push(params.args.map((each) => each.value || each.description).join(" "));
  }

  call(method, params = {}) {
    const id = ++this.last;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** Shows a page of this width, in light or dark. */
  async open(url, { width = 1280, height = 900, dark = false } = {}) {
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await this.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    const loaded = new Promise((resolve) => (this.loaded = resolve));
    await this.call("Page.navigate", { url: "about:blank" });
    await loaded;
    const again = new Promise((resolve) => (this.loaded = resolve));
    await this.call("Page.navigate", { url });
    await again;
    // The theme keeps the scheme that it began with.
    const wanted = dark ? "slate" : "default";
    if ((await this.value("document.body.dataset.mdColorScheme || ''")) === wanted || !url.startsWith("http")) return;
    await this.value("localStorage.clear()");
    const third = new Promise((resolve) => (this.loaded = resolve));
    await this.call("Page.reload");
    await third;
  }

  /** The value of an expression on the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true. */
  async until(expression, seconds = 60) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
      const value = await this.value(expression);
      if (value) return value;
      if (Date.now() > end) throw new Error(`after ${seconds} s there is still no ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Clicks in the middle of an element, as a mouse does. */
  async click(selector) {
    const at = await this.value(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); if (!e) return null; e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`);
    if (!at) throw new Error(`there is no ${selector}`);
    for (const type of ["mousePressed", "mouseReleased"]) await this.call("Input.dispatchMouseEvent", { type, x: at[0], y: at[1], button: "left", clickCount: 1 });
  }

  /** Types into what has the focus. */
  async type(text) {
    await this.call("Input.insertText", { text });
  }

  async press(key) {
    const codes = { Tab: 9, Enter: 13, " ": 32, ArrowRight: 39 };
    const common = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: codes[key] };
    await this.call("Input.dispatchKeyEvent", { type: "keyDown", ...common, text: key === "Enter" ? "\r" : key === " " ? " " : undefined });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...common });
  }

  async picture(file, selector) {
    let clip;
    if (selector) {
      await this.value(`document.querySelector("header.md-header")?.style.setProperty("display", "none")`); // it stays in sight
      const box = await this.value(`(() => { const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: Math.min(r.height, 2400)}; })()`);
      clip = { ...box, scale: 1 };
    }
    const { data } = await this.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: Boolean(selector), clip });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
}

module.exports = { Browser, option, serve };
