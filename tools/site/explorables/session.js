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
    this.ask({ do: "start", multiprocessors: recorded.multiprocessors, ...options });
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

  /** The same with the launches before it run: the one that a reader looks at closely may need what they have written. */
  beginAfterOthers(number) {
    for (const launch of this.recorded.launches.slice(0, number)) {
      this.begin(launch);
      while (!this.ask({ do: "run", milliseconds: 60 }).done);
    }
    return this.begin(this.recorded.launches[number]);
  }

  /** Random numbers as the harness draws them: by the course's own function. */
  draw(address, { type, count, seed, deviation }) {
    if (!this.named(type, (name) => this.module._course_fill(address, count, name, seed, deviation))) throw new Error(`there is no type ${type}`);
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

  /** A text in the module's memory, for the time of a call. */
  named(text, body) {
    const bytes = new TextEncoder().encode(text + "\0");
    const at = this.module._front_room(bytes.length + 8);
    this.module.HEAPU8.set(bytes, at + 8);
    const made = body(at + 8, at);
    this.module._front_release(at);
    return made;
  }

  /** A number as a type holds it: its bits, their count, and its value. */
  rounded(type, number) {
    return this.named(type, (name, room) => {
      this.module.HEAPU8.fill(0, room, room + 8);
      const bytes = this.module._course_rounded(room, name, number);
      if (!bytes) throw new Error(`there is no type ${type}`);
      const bits = new DataView(this.module.HEAPU8.buffer).getUint32(room, true);
      return { bits, count: 8 * bytes, value: this.module._course_value(name, bits) };
    });
  }

  /** So many doubles in the module's memory for the time of a call; `body` gets their address. */
  doubles(lists, body) {
    const at = this.module._front_room(8 * lists.reduce((sum, list) => sum + list.length, 0));
    const places = [];
    lists.reduce((from, list) => (places.push(from), new Float64Array(this.module.HEAPU8.buffer, from, list.length).set(list), from + 8 * list.length), at);
    body(...places);
    const made = lists.map((list, i) => [...new Float64Array(this.module.HEAPU8.buffer, places[i], list.length)]);
    this.module._front_release(at);
    return made;
  }

  /**
   * A row times a column as the tensor core adds it: by instruction the addends, what is kept of each, and the result,
   * which the next instruction takes as its c.
   */
  dot(type, a, b) {
    return this.named(type, (name) => {
      const depth = this.module._course_depth(name);
      const steps = [];
      for (let first = 0, c = 0; first < a.length; first += depth, c = steps.at(-1).result) {
        const [of_a, of_b] = [a, b].map((row) => row.slice(first, first + depth));
        const [made] = this.doubles([new Array(5 + of_a.length).fill(0), of_a, of_b], (to, in_a, in_b) => this.module._course_dot(to, name, in_a, in_b, of_a.length, c));
        const [result, before, top, fraction, kept, ...products] = made;
        steps.push({ result, before, top, fraction, addends: [{ value: c, kept }, ...products.map((each, i) => ({ a: of_a[i], b: of_b[i], value: of_a[i] * of_b[i], kept: each }))] });
      }
      return { steps, result: steps.at(-1).result, inOrder: a.reduce((sum, each, i) => this.module._course_fma(each, b[i], sum), 0) };
    });
  }

  /** A row times a column in three digits, as step 32 multiplies them. */
  digits(a, b) {
    const room = new Array(1 + 3 * a.length).fill(0);
    const [[result, ...sums], ...split] = this.doubles([[0, 0, 0, 0], room, room, a, b], (...places) => this.module._course_digits(...places, a.length));
    const [in_a, in_b] = split.slice(0, 2).map(([shift, ...all]) => ({ shift, digits: a.map((_, i) => all.slice(3 * i, 3 * i + 3)) }));
    return { result, sums, a: in_a, b: in_b };
  }

  /** How tiles fall on the multiprocessors, by the course's own functions; step 27's estimate of each of `ways`, and its choice. */
  waves({ m, n, k, bm, bn, atOnce, ways }) {
    const given = ways.flatMap((way) => [way.bm, way.bn, way.perSlice, way.perTile]);
    let cheapest = 0;
    const [[tiles, waves, used], times] = this.doubles([[0, 0, 0], ways.map(() => 0), given], (to, toTimes, from) => {
      this.module._course_waves(to, m, n, bm, bn, atOnce);
      cheapest = this.module._course_times(toTimes, from, ways.length, m, n, k, ways[0].bk, atOnce);
    });
    return { tiles, waves, used, times, cheapest };
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
