// The core as a C++ library: a kernel is stepped through, looked at, taken back, and a value is followed to its end and
// back to where it came from. It needs no CUDA, prints what it sees, and ends with code 1 where that is not what it
// expects.
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/machine/inspection.h"
#include "core/machine/provenance.h"
#include "core/ptx/parse.h"
#include "core/warp/decode.h"

// 64 threads: each stores its number of `in` to shared memory, arrives at an mbarrier, waits for its phase, and takes
// the number of the thread 63 - tid, which it doubles into `out`.
const char* const text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry reverse(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;  .reg .b32 %r<8>;  .reg .b64 %d<8>;  .reg .f32 %f<4>;
  .shared .align 8 .b64 full;
  .shared .align 4 .b8 tile[256];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [full], 64;
  bar.sync 0;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [out];
  mad.wide.u32 %d3, %r1, 4, %d1;
  mad.wide.u32 %d4, %r1, 4, %d2;
  ld.global.f32 %f1, [%d3];
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  st.shared.f32 [%r3], %f1;
  mbarrier.arrive.shared.b64 %d5, [full];
again:
  mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
  @!%p2 bra again;
  xor.b32 %r4, %r1, 63;
  mad.lo.u32 %r5, %r4, 4, %r2;
  ld.shared.f32 %f2, [%r5];
  add.f32 %f3, %f2, %f2;
  st.global.f32 [%d4], %f3;
  ret;
}
)";

bool all_right = true;
void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "yes" : "NO", what);
  all_right &= holds;
}

int main() {
  using namespace sim;
  // A front's part: PTX is decoded, memory is told of, a launch is described. Device memory is the host's.
  std::vector<float> in(64), out(64);
  std::iota(in.begin(), in.end(), 1.0f);
  const ptx::Module module = ptx::parse(text);
  const Program program = decode(module, module.kernels.at(0), [](const std::string&) -> uint64_t { return 0; });
  Allocations allocations;
  Reports reports;
  std::vector<std::byte> parameters(program.parameter_bytes);
  for (auto* array : {&in, &out}) {
    const auto address = reinterpret_cast<uint64_t>(array->data());
    allocations.add(address, array->size() * sizeof(float), "example");
    std::memcpy(parameters.data() + (array == &in ? 0 : 8), &address, sizeof address);
  }
  const auto launch = std::unique_ptr<Launch>(new Launch{.program = program,
                                                         .grid = {1, 1, 1},
                                                         .block = {64, 1, 1},
                                                         .dynamic_shared_bytes = 0,
                                                         .parameters = parameters,
                                                         .allocations = allocations,
                                                         .reports = reports,
                                                         .options = {},
                                                         .global = nullptr,
                                                         .before = nullptr});

  Inspection at(*launch, 0);  // cluster 0: one block of two warps
  using By = Inspection::By;
  at.step(By::instruction, 0, 1);
  expect((*at.lanes(0, 1, "%r1"))[5] == 37, "after one instruction %r1 of lane 5 of warp 1 is 37");
  at.step(By::turn, 0, 0);  // until warp 0 waits: warp 1 has not come to the barrier
  std::printf("warp 0%s\n", at.words(0, 0).c_str());
  expect(at.barriers(0).at(0).arrived == 1, "one warp has come to barrier 0");
  at.step(By::turn, 0, 0);  // warp 1 has to go on for that: then warp 0 waits at the mbarrier
  std::printf("warp 0%s\n", at.words(0, 0).c_str());
  expect(at.mbarriers(0).at(0)->pending == 32, "of 64 arrivals at the mbarrier 32 are missing");
  float stored;
  std::memcpy(&stored, at.shared(0).data() + program.shared_variables.at(1).offset + 3 * 4, 4);
  expect(stored == in[3], "the fourth number is in shared memory");

  const size_t steps = at.done().size();
  while (at.step(By::event, 0, 1)) {
  }
  expect(at.over() && out[0] == 128, "at its end the kernel has written 2 · 64 first");
  at.begin_anew(steps);
  expect(at.mbarriers(0).at(0)->pending == 32 && out[0] == 0, "back by doing all steps before again");

  // The third number of `in`: on its way, what it becomes, and what `out` has of it.
  at.begin_anew(0);
  Provenance provenance(*launch);
  const auto address = [](std::vector<float>& array, size_t i) { return reinterpret_cast<uint64_t>(&array[i]); };
  const Provenance::Followed way = provenance.follow({address(in, 2), 4}, 0);
  for (const Mark& mark : way.marks) {
    std::printf("step %llu, %s of warp %u: ", static_cast<unsigned long long>(mark.step),
                program.sites[mark.site].text.c_str(), mark.warp);
    if (mark.kind == Mark::Kind::registers)
      std::printf("%s, lanes %08x%s\n", mark.name.c_str(), mark.lanes, mark.sum ? ", a sum" : "");
    if (mark.kind == Mark::Kind::shared)
      std::printf("shared byte %llu\n", static_cast<unsigned long long>(mark.address));
    if (mark.kind == Mark::Kind::global)
      std::printf("out[%llu]\n", static_cast<unsigned long long>((mark.address - address(out, 0)) / 4));
  }
  expect(way.marks.size() == 5 && way.marks.back().address == address(out, 61), "in[2] goes to out[61]");
  const auto origins = provenance.origins({{address(in, 0), 4, 1, 64, 256}}, 0);
  const auto source = origins.of_global(address(out, 7), 4);
  expect(source.size() == 1 && source[0].cols == std::vector<uint32_t>{56}, "out[7] comes from in[56]");
  return all_right ? 0 : 1;
}
