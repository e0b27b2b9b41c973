// For each of these the theme would ask for a map of the site in the page's folder, where there is none.
document.querySelectorAll("link[rel=alternate]").forEach((link) => link.remove());

// What scrolls sideways can be reached by keyboard: tables, which the theme wraps while the page loads, and code, which it
// reaches only where there is a mouse.
const reach = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
};
for (const event of ["load", "resize"]) addEventListener(event, () => setTimeout(reach, 200)); // after the theme

// A browser starts no worker from a file. Where the site is read without a server, this one runs the script of a worker
// in a hidden frame: it has the same interface, but shares the page's thread. The theme's search looks for the name
// IFrameWorker in the window and then loads its languages by scripts.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...addresses) =>
        addresses.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      this.load(address).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    load(address) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = String(address);
        script.onload = loaded;
        script.onerror = failed;
        this.inside.document.head.appendChild(script);
      });
    }

    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
  window.IFrameWorker.native = window.Worker; // which starts from a Blob
  window.Worker = window.IFrameWorker;
}
