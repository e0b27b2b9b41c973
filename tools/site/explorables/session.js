// One session of the simulator: what the worker of a page and the tests in Node do with the WebAssembly module.
"use strict";

class Session {
  /** `module`: what ptxsim() has made of the WebAssembly. */
  constructor(module) {
    this.module = module;
    this.arrays = [];
    this.stopped = false;
  }

  /** One request as JSON (sim/web/front.h). Throws an Error with the sentence that refuses it. */
  ask(request) {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const at = this.module._front_room(text.length + 1);
    this.module.HEAPU8.set(text, at);
    const answer = JSON.parse(this.module.UTF8ToString(this.module._front_call(at, text.length)));
    this.module._front_release(at);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /** A new session for a recorded run (tools/site/kernels.py): its modules and its arrays. */
  open(recorded, options) {
    this.ask({ do: "start", ...options });
    this.recorded = recorded;
    this.modules = recorded.modules.map((ptx) => this.ask({ do: "module", ptx }).module);
    this.arrays = recorded.allocations.map((bytes) => ({ bytes, address: this.ask({ do: "allocate", bytes }).address }));
  }

  /** Fills arrays as the host did before a launch, and puts the launch under way. */
  begin(launch) {
    for (const write of launch.writes) {
      const { address, bytes } = this.arrays[write.allocation];
      if ("fill" in write) {
        this.module.HEAPU8.fill(write.fill, address, address + bytes);
      } else if ("copy" in write) {
        const from = this.arrays[write.copy];
        this.module.HEAPU8.copyWithin(address, from.address, from.address + bytes);
      } else if ("drawn" in write) {
        this.draw(address, write.drawn);
      } else {
        const digits = write.bytes;
        for (let i = 0; i < bytes; ++i) this.module.HEAPU8[address + i] = parseInt(digits.substr(2 * i, 2), 16);
      }
    }
    return this.ask({
      do: "launch",
      module: this.modules[launch.module],
      ...Object.fromEntries(["kernel", "grid", "block", "cluster", "explicit", "shared", "parameters", "maps"].map((key) => [key, launch[key]])),
      pointers: launch.pointers.map(([offset, array, within]) => [offset, this.arrays[array].address + within]),
    });
  }

  /** Random numbers as the harness draws them: by the course's own function. */
  draw(address, { type, count, seed, deviation }) {
    const name = new TextEncoder().encode(type + "\0");
    const at = this.module._front_room(name.length);
    this.module.HEAPU8.set(name, at);
    const known = this.module._course_fill(address, count, at, seed, deviation);
    this.module._front_release(at);
    if (!known) throw new Error(`there is no type ${type}`);
  }

  /** Runs all launches. `progress` is told how far it is, from 0 to 1, and may be waited for. */
  async run(progress = () => {}) {
    this.stopped = false;
    let seconds = 0;
    const launches = this.recorded.launches;
    for (let i = 0; i < launches.length; ++i) {
      this.begin(launches[i]);
      for (let done = false; !done; ) {
        const now = this.ask({ do: "run", milliseconds: 60 });
        done = now.done;
        if (done) seconds += now.seconds;
        await progress((i + now.blocks_done / now.blocks) / launches.length, seconds + (done ? 0 : now.seconds));
        if (this.stopped) return null;
      }
    }
    return { ...this.ask({ do: "summary" }), seconds };
  }

  /** The hash of what an array holds. */
  hash(array) {
    const { address, bytes } = this.arrays[array];
    return this.ask({ do: "hash", address, bytes }).hash;
  }

  /** A copy of what an array holds. */
  bytes(array) {
    const { address, bytes } = this.arrays[array];
    return this.module.HEAPU8.slice(address, address + bytes);
  }
}

if (typeof module !== "undefined") module.exports = { Session };
