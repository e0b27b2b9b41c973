// Step 29, also: the fastest kernel of steps 26 to 29, for every size. It is the step's default.
//
// The idea: each of these kernels wins somewhere: the pairs of step 26 where C is large, the tiles
// of step 27 in between, step 28's turns where K is short, this step's split where C is small and K
// long, and few_rows where C has few rows. Each one's time is estimated as in step 27's launcher,
// as waves × (slices × time per slice + time per tile), and the kernel with the least is launched.
// Multiprocessors that are idle leave bandwidth and power to the others, so a part of a slice's
// time counts by how full the waves are.
//
// Where the last wave of pairs would be half empty, they compute the rows that whole waves do, and
// a second launch computes the rows below as what is fastest for these (launch_in_two).
//
// The times are not typed: `python -m lab.chooser` fits them to the records of a GPU and writes
// them to costs.h. On a GPU that is not recorded, those of the first take their place, and a line
// says so.
//
// The kernels are the steps' own files. All of them have the same names, so each file is included
// into a namespace. What it includes itself has to stand here before.
//
// Source: our own.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/cluster_launch.h"
#include "common/device/cluster_places.h"
#include "common/device/gemm.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"
#include "common/device/wgmma_tile.h"
#include "steps/29_split_k/also/costs.h"

namespace pairs {
#include "steps/26_clusters/kernel.cu"
}
namespace by_size {
#include "steps/27_by_size/kernel.cu"
}
namespace in_turns {
#include "steps/28_in_turns/kernel.cu"
}
namespace split_k {
#include "steps/29_split_k/kernel.cu"
}

namespace {

constexpr int BK = 64;         // of a slice, in all of them
constexpr int CLIPPED_IN = 8;  // columns: the pairs' stores clip no less at the edge of C
constexpr const char* SIMULATOR = "PTX simulator";  // how it names its GPU
constexpr int FEW = 16, SOME = 64;                  // rows of few_rows' tiles

/// A kernel: the name of its costs, its tile, the blocks that compute one, how many of them share
/// K, and how many run at the same time.
template <class AB>
struct Way {
  const char* name;
  int bm, bn, blocks, split;
  Variant::Launcher<AB, float, AB> launch;
  int (*at_once)() = multiprocessors_here;
};

/// Blocks in clusters of four. Fewer than there are multiprocessors: these come in groups, of which
/// not all are a multiple of four.
template <class AB, Major B_MAJOR>
int fours_at_once() {
  using split_k::Four;
  const auto kernel = split_k::gemm_kernel<AB, B_MAJOR, Four>;
  constexpr int BYTES = Four::SMEM_BYTES;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
  return Four::SPLIT * resident_clusters(kernel, Four::SPLIT, split_k::THREADS, BYTES);
}

template <class AB, Major B_MAJOR>
constexpr Way<AB> WAYS[] = {
    {"pairs", pairs::BM, pairs::CLUSTER * pairs::BN, pairs::CLUSTER, 1, pairs::launch<AB, B_MAJOR>},
    {"wide", by_size::Wide::BM, by_size::Wide::BN, 1, 1,
     by_size::launch<AB, B_MAJOR, by_size::Wide>},
    {"large", by_size::Large::BM, by_size::Large::BN, 1, 1,
     by_size::launch<AB, B_MAJOR, by_size::Large>},
    {"square", by_size::Square::BM, by_size::Square::BN, 1, 1,
     by_size::launch<AB, B_MAJOR, by_size::Square>},
    {"small", by_size::Small::BM, by_size::Small::BN, 1, 1,
     by_size::launch<AB, B_MAJOR, by_size::Small>},
    {"turns", in_turns::Large::BM, in_turns::Large::BN, 1, 1,
     in_turns::launch<AB, B_MAJOR, in_turns::Large>},
    {"square_turns", in_turns::Square::BM, in_turns::Square::BN, 1, 1,
     in_turns::launch<AB, B_MAJOR, in_turns::Square>},
    {"small_turns", in_turns::Small::BM, in_turns::Small::BN, 1, 1,
     in_turns::launch<AB, B_MAJOR, in_turns::Small>},
    {"two", split_k::Two::BM, split_k::Two::BN, 2, 2, split_k::launch<AB, B_MAJOR, split_k::Two>},
    {"four", split_k::Four::BM, split_k::Four::BN, 4, 4,
     split_k::launch<AB, B_MAJOR, split_k::Four>, fours_at_once<AB, B_MAJOR>},
};

/// The costs of the current device, or of the first that is recorded; then a line says so, once.
const Costs& costs_here() {
  static std::mutex one_at_a_time;
  static std::map<int, const Costs*> known;
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  const Costs*& costs = known[device];
  if (costs) return *costs;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  costs = std::find_if(std::begin(RECORDED), std::end(RECORDED),
                       [&](const Costs& of) { return std::strcmp(of.gpu, properties.name) == 0; });
  if (costs != std::end(RECORDED)) return *costs;
  costs = RECORDED;
  if (std::strcmp(properties.name, SIMULATOR) == 0) return *costs;  // it has no times at all
  std::fprintf(
      stderr,
      "no costs are recorded of %s: step 29 chooses by those of %s (python -m lab.chooser)\n",
      properties.name, costs->gpu);
  return *costs;
}

/// The variant of few_rows for C's rows, in these types and layout.
template <class AB, Major B_MAJOR>
const Variant& few_rows(int m) {
  static const std::vector<Variant> all = all_variants();
  const std::string_view name = m <= FEW ? "rows_16" : "rows_64";
  return *std::find_if(all.begin(), all.end(), [&](const Variant& one) {
    return one.name.compare(0, name.size(), name) == 0 && one.ab == type_of<AB> &&
           one.b_transposed == (B_MAJOR == Major::K);
  });
}

/// The rows of a C of m × n that whole waves of this kernel's tiles compute; 0: all of its tiles
/// are less than a wave.
template <class AB>
int rows_of_whole_waves(int m, int n, const Way<AB>& way) {
  const int rows = ceil_div(m, way.bm), cols = ceil_div(n, way.bn),
            at_once = way.at_once() / way.blocks;
  const int in_waves = at_once == 0 ? 0 : rows * cols / at_once * at_once;  // tiles
  return min(m, in_waves / cols * way.bm);
}

/// So many rows of C, from `first` on, as a problem of their own.
template <class AB>
Gemm<AB, float, AB> rows_of(Gemm<AB, float, AB> g, int first, int rows) {
  g.a += first * static_cast<std::size_t>(g.lda);
  g.c += first * static_cast<std::size_t>(g.ldc);
  g.m = rows;
  return g;
}

/// Microseconds that a kernel takes for a C of m × n, as estimated.
template <class AB, Major B_MAJOR>
double estimate(const Way<AB>& way, int m, int n, int k) {
  const auto& ways = WAYS<AB, B_MAJOR>;
  if (&way == ways && n % CLIPPED_IN != 0) return HUGE_VAL;
  const Cost& cost = costs_here().of[&way - ways];
  const int at_once = way.at_once();
  if (at_once == 0) return HUGE_VAL;  // no group of multiprocessors has room for such a cluster
  const int blocks = ceil_div(m, way.bm) * ceil_div(n, way.bn) * way.blocks;
  const int waves = ceil_div(blocks, at_once), slices = ceil_div(ceil_div(k, BK), way.split);
  const double fill = static_cast<double>(blocks) / at_once;
  return waves * (slices * cost.per_slice + cost.per_tile) + fill * slices * cost.shared +
         cost.per_launch;
}

template <class AB, Major B_MAJOR>
const Way<AB>& fastest(int m, int n, int k) {
  const auto sooner = [&](const Way<AB>& x, const Way<AB>& y) {
    return estimate<AB, B_MAJOR>(x, m, n, k) < estimate<AB, B_MAJOR>(y, m, n, k);
  };
  return *std::min_element(std::begin(WAYS<AB, B_MAJOR>), std::end(WAYS<AB, B_MAJOR>), sooner);
}

/// Pairs compute the first `upper` rows of C, what is the fastest for the others computes these.
template <class AB, Major B_MAJOR>
void launch_in_two(const Gemm<AB, float, AB>& g, int upper, const LaunchOptions& options,
                   cudaStream_t stream) {
  const int lower = g.m - upper;
  const Way<AB>& rest = fastest<AB, B_MAJOR>(lower, g.n, g.k);
  WAYS<AB, B_MAJOR>[0].launch(rows_of(g, 0, upper), options, stream);
  rest.launch(rows_of(g, upper, lower), options, stream);
}

template <class AB, Major B_MAJOR>
void launch_fastest(const Gemm<AB, float, AB>& g, const LaunchOptions& options,
                    cudaStream_t stream) {
  if (g.m <= SOME) {
    const Problem problem{{g.m, g.n, g.k, g.a, g.lda, g.b, g.ldb, g.c, g.ldc, g.alpha, g.beta},
                          options.scales};
    return few_rows<AB, B_MAJOR>(g.m).launch(problem, options, stream);
  }
  const auto time = estimate<AB, B_MAJOR>;
  const Way<AB>&pairs = WAYS<AB, B_MAJOR>[0], &way = fastest<AB, B_MAJOR>(g.m, g.n, g.k);
  const int upper = rows_of_whole_waves(g.m, g.n, pairs), lower = g.m - upper;
  if (upper == 0 || lower == 0) return way.launch(g, options, stream);
  const Way<AB>& rest = fastest<AB, B_MAJOR>(lower, g.n, g.k);
  const double in_two =
      time(pairs, upper, g.n, g.k) + time(rest, lower, g.n, g.k) + costs_here().cut;
  if (time(way, g.m, g.n, g.k) <= in_two) return way.launch(g, options, stream);
  launch_in_two<AB, B_MAJOR>(g, upper, options, stream);
}

/// Cuts C wherever the last wave of pairs is not full: the launcher's constants are fitted to its
/// times too.
void launch_whole_waves(const Gemm<__nv_bfloat16, float, __nv_bfloat16>& g,
                        const LaunchOptions& options, cudaStream_t stream) {
  const auto& pairs = WAYS<__nv_bfloat16, Major::MN>[0];
  const int upper = rows_of_whole_waves(g.m, g.n, pairs);
  if (upper == 0 || upper == g.m) return pairs.launch(g, options, stream);
  launch_in_two<__nv_bfloat16, Major::MN>(g, upper, options, stream);
}

template <class AB, Major B_MAJOR>
Variant variant(const char* name) {
  Variant v(name, launch_fastest<AB, B_MAJOR>);
  v.any_size(by_size::Small::BM, by_size::Small::BN, BK).aligned_ld(8, 8, 8);
  v.flat_grid().in_bands().on_tensor_cores();
  return B_MAJOR == Major::K ? v.tn() : v;
}

/// The kernels one by one, and two for one C, to be timed beside each other; but for this step's
/// own, which are in its table already.
std::vector<Variant> ways() {
  std::vector<Variant> all;
  for (const Way<__nv_bfloat16>& way : WAYS<__nv_bfloat16, Major::MN>) {
    if (way.split > 1) continue;
    all.emplace_back(way.name, way.launch).any_size(way.bm, way.bn, BK).aligned_ld(8, 8, 8);
    all.back().flat_grid().in_bands().on_tensor_cores();
  }
  all.front().columns_in(CLIPPED_IN);
  all.emplace_back("whole_waves", launch_whole_waves)
      .any_size(pairs::BM, pairs::CLUSTER * pairs::BN, BK)
      .aligned_ld(8, 8, 8);
  all.back().flat_grid().in_bands().on_tensor_cores().columns_in(CLIPPED_IN);
  return all;
}

std::vector<Variant> variants() {
  return {
      variant<__nv_bfloat16, Major::MN>("bf16").note(
          "for every size the fastest of steps 26 to 29"),
      variant<__nv_bfloat16, Major::K>("bf16_tn"),
      variant<half, Major::MN>("f16"),
      variant<half, Major::K>("f16_tn"),
      variant<__nv_bfloat16, Major::MN>("alone").alone().note("no early launch"),
  };
}

const Also added(variants, Also::Place::IN_FRONT);
const Also beside(ways);

}  // namespace
