// The worker of a page: answers messages {id, do, …} with {id, answer} or {id, error}, and tells of progress.
"use strict";

let session = null;

const breathe = () => new Promise((resolve) => setTimeout(resolve, 0)); // a message to stop may come in

const handlers = {
  async load({ wasm }) {
    // Compiled first: what ptxsim() makes would wait for ever for a module that this browser cannot compile.
    let compiled = null;
    try {
      compiled = await WebAssembly.compile(wasm);
    } catch {
      return { unable: true };
    }
    const made = await new Promise((resolve, reject) => {
      const instantiateWasm = (imports, done) => (WebAssembly.instantiate(compiled, imports).then(done).catch(reject), {});
      ptxsim({ instantiateWasm }).then(resolve, reject);
    });
    session = new Session(made);
    return {};
  },
  open: ({ recorded, options }) => session.open(recorded, options),
  begin: ({ launch }) => session.beginAfterOthers(launch),
  async run(_, tell) {
    let told = 0;
    return session.run(async (share, seconds) => {
      if (Date.now() - told > 100) tell({ share, seconds }), (told = Date.now());
      await breathe();
    });
  },
  stop: () => ((session.stopped = true), {}),
  hash: ({ array }) => session.hash(array),
  bytes: ({ array }) => session.bytes(array),
  rounded: ({ type, numbers }) => numbers.map((each) => session.rounded(type, each)),
  dot: ({ type, a, b }) => session.dot(type, a, b),
  digits: ({ a, b }) => session.digits(a, b),
  waves: ({ of }) => session.waves(of),
  ask: ({ request }) => session.ask(request),
};

self.onmessage = async ({ data }) => {
  try {
    const answer = await handlers[data.do](data, (progress) => self.postMessage({ id: data.id, progress }));
    self.postMessage({ id: data.id, answer });
  } catch (problem) {
    self.postMessage({ id: data.id, error: String(problem.message || problem) });
  }
};
