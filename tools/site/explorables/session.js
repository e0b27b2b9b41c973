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

  /**
   * The sum of numbers of a type as the tensor core adds them to c: a row of A times a column of ones, by one mma in the
   * simulator, or several, each of which takes the sum before as its c.
   */
  sum(type, numbers, c) {
    const wide = type === "tf32"; // elements of 32 bits, of which an instruction takes 8; else 16 of 16 bits
    const k = wide ? 8 : 16;
    const shape = wide ? "m16n8k8.row.col.f32.tf32.tf32.f32" : `m16n8k16.row.col.f32.${type}.${type}.f32`;
    this.ask({ do: "start" });
    const ptx = `.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 in, .param .u64 out)
{
.reg .b64 %d<8>;
.reg .b32 %r<8>;
.reg .f32 %f<8>;
ld.param.u64 %d1, [in];
ld.param.u64 %d2, [out];
mov.u32 %r7, %tid.x;
mul.wide.u32 %d3, %r7, 32;
add.s64 %d4, %d1, %d3;
ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%d4];
ld.global.v2.u32 {%r4,%r5}, [%d4+16];
ld.global.f32 %f0, [%d4+24];
mov.f32 %f1, 0f00000000;
mma.sync.aligned.${shape} {%f4,%f5,%f6,%f7}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f1,%f1};
mul.wide.u32 %d5, %r7, 4;
add.s64 %d6, %d2, %d5;
st.global.f32 [%d6], %f4;
ret;
}
`;
    const { module: number } = this.ask({ do: "module", ptx });
    const at = this.ask({ do: "allocate", bytes: 1024, fill: 0 }).address;
    const to = this.ask({ do: "allocate", bytes: 128 }).address;
    const one = this.rounded(type, 1).bits;
    for (let first = 0; first < numbers.length; first += k) {
      const words = new DataView(this.module.HEAPU8.buffer);
      this.module.HEAPU8.fill(0, at, at + 1024);
      // Lanes 0 to 3 hold row 0 of A (registers 0 and 2) and column 0 of B (registers 4 and 5).
      numbers.slice(first, first + k).forEach((each, i) => {
        const lane = wide ? i % 4 : (i % 8) >> 1;
        const half = i >= k / 2 ? 1 : 0;
        const { bits } = this.rounded(type, each);
        const inWord = wide ? 0 : 2 * (i % 2);
        const put = (register, value) => {
          const place = at + 32 * lane + 4 * register + inWord;
          wide ? words.setUint32(place, value, true) : words.setUint16(place, value, true);
        };
        put(2 * half, bits);
        put(4 + half, one);
      });
      words.setFloat32(at + 24, c, true);
      this.ask({ do: "launch", module: number, kernel: "sum", grid: [1, 1, 1], block: [32, 1, 1], parameters: "00".repeat(16), pointers: [[0, at], [8, to]] });
      while (!this.ask({ do: "run" }).done);
      c = new DataView(this.module.HEAPU8.buffer).getFloat32(to, true);
    }
    return c;
  }

  /** How tiles fall on the multiprocessors, by the course's own functions; of each of `ways` also step 27's estimate. */
  waves({ m, n, slices, bm, bn, atOnce, ways }) {
    const at = this.module._front_room(24);
    this.module._course_waves(at, m, n, bm, bn, atOnce);
    const [tiles, waves, used] = new Float64Array(this.module.HEAPU8.buffer.slice(at, at + 24));
    this.module._front_release(at);
    const times = ways.map((way) => this.module._course_time(m, n, slices, way.bm, way.bn, way.perSlice, way.perTile, atOnce));
    return { tiles, waves, used, times };
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
