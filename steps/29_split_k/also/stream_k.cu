// Step 29, also: stream-K. Every block gets the same number of slices, of whatever tiles.
//
// The idea: whole tiles seldom fill the last wave. So the slices of all tiles are put in one row,
// tile after tile, and each block takes an equal share of the row. A share may begin and end in the
// middle of a tile. The block that has the tile's first slice finishes the tile: it adds the sums
// of the blocks that have the others, and stores C.
//
// A block walks its share from front to back. So the end of another block's tile comes first: its
// sums go to a place of this block's own in global memory, and a flag is raised. The tile that the
// block shares with others at the back of its share comes last, when they have long raised theirs.
// A block waits only for blocks with lower numbers. These have started before, so the wait ends.
//
// Walking C in one row of slices costs locality: at any time the blocks are far apart, with little
// to share in L2. So `stream_k_rest` shares out only as many tiles as whole waves leave over, and
// one wave more; the others are computed whole, as in step 27.
//
// Against step 27: the parts of a block's work, the sums in global memory, the grid. The choice of
// a tile, the turns and the split go. Registers, the warpgroup's number and the descriptors are as
// in step 25. The place for sums belongs to the kernel, so there may be one launch at a time.
//
// It is slower than step 27 at almost every size that we timed: docs/stream-k.md says why.
//
// Source: Osama et al., "Stream-K", 2023; the numbers of the shares, against those of the blocks,
// are our own.

#include "common/device/also.h"
#include "common/device/check.h"
#include "common/device/gemm.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/ptx/flag.h"
#include "common/device/ptx/mbarrier.h"
#include "common/device/ptx/tma.h"
#include "common/device/ptx/warpgroup.h"
#include "common/device/ptx/wgmma.h"
#include "common/device/ring.h"
#include "common/device/tensor_map.h"
#include "common/device/tiles.h"
#include "common/device/wgmma_accumulators.h"

namespace {

using AB = __nv_bfloat16;
constexpr int MMA_M = 64, MMA_K = 16, BK = 64;  // of one instruction, whose N is BN; of a slice
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // per thread
constexpr int ROW = 64, ROW_BYTES = 128;                          // a box's row: elements, bytes
constexpr int PIECE_BYTES = MMA_M * ROW_BYTES;                    // 64×64 of C
constexpr int DEFAULT_BAND = 2048;                                // rows of C in a band
constexpr uint64_t NEXT_ROWS = MMA_M * ROW_BYTES >> 4;  // in a descriptor: the next 64 rows of A
constexpr int MOST_BLOCKS = 144;      // a whole GH100; no GPU that is sold has more multiprocessors
constexpr int MOST_SUMS = 256 * 192;  // of a tile
static_assert(BK == ROW, "a row of A's box is a slice of K");
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 65536 / WARPGROUP);

/// A block tile, its ring, and the pieces of C that a consumer has room for.
template <int BM_, int BN_, int STAGES_, int ROOM_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, ROOM = ROOM_;
  static constexpr int WM = BM / CONSUMERS, MMAS_M = WM / MMA_M;  // rows of a consumer
  static constexpr int PIECES = MMAS_M * BN / ROW;                // of C, 64×64, per consumer
  static constexpr int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BK * BN * 2;
  static constexpr int RING_BYTES = STAGES * STAGE_BYTES;
  static constexpr int SMEM_BYTES = RING_BYTES + CONSUMERS * ROOM * PIECE_BYTES;
  static constexpr int QUADS = MMAS_M * BN / 2 / 4;  // of four sums, per thread
  // Stages that bring the old C, and pieces of it per consumer in one.
  static constexpr int C_STAGES = 2, AT_ONCE = PIECES / C_STAGES;
  static_assert(PIECES % C_STAGES == 0 && CONSUMERS * AT_ONCE * PIECE_BYTES <= STAGE_BYTES);
  static_assert(BM * BN <= MOST_SUMS);
};

// Of each block: the sums of a tile that another one finishes, and a flag for each consumer's.
__device__ float4 left_sums[MOST_BLOCKS][MOST_SUMS / 4];
__device__ uint32_t left_flags[MOST_BLOCKS][CONSUMERS];  // 0 between two launches

/// The slices of the first `tiles` tiles, shared out among `blocks` blocks.
struct Shares {
  int tiles, slices, blocks;  // slices: of a tile

  /// Where the share with this number begins in the row of slices, and the one before it ends.
  __device__ int begin(int share) const {
    return static_cast<int>(static_cast<long long>(tiles) * slices * share / blocks);
  }
  /// The shares that continue a tile which share `first` has begun: first + 1 … this one.
  __device__ int last_of_tile(int first, int tile) const {
    int last = first;
    while (begin(last + 1) < (tile + 1) * slices) ++last;
    return last;
  }
};

/// What a block computes, part after part: its share, and behind the tiles that are shared out,
/// each gridDim.x-th one. Producer and consumers walk through it on their own.
class Parts {
 public:
  int tile, first, end;  // of this part: slices first … end - 1 of a tile

  __device__ Parts(const Shares& shares, int share, int tiles)
      : slices_(shares.slices),
        at_(shares.begin(share)),
        end_(shares.begin(share + 1)),
        whole_tile_(shares.tiles + share),
        tiles_(tiles) {}

  /// Goes on to the next part. False where there is none.
  __device__ bool next() {
    if (at_ < end_) {
      tile = at_ / slices_, first = at_ % slices_;
      end = min(slices_, first + end_ - at_);
      at_ += end - first;
      return true;
    }
    tile = whole_tile_, first = 0, end = slices_;
    whole_tile_ += gridDim.x;
    return tile < tiles_;
  }

 private:
  int slices_, at_, end_, whole_tile_, tiles_;
};

template <class T>
__global__ void __launch_bounds__(THREADS, 1)
    stream_k_kernel(const __grid_constant__ CUtensorMap a_map,
                    const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map, Gemm<AB, float, AB> g, int band_rows,
                    int shared_tiles) {
  constexpr int BM = T::BM, BN = T::BN, STAGES = T::STAGES;
  const int tile_rows = ceil_div(g.m, BM), tile_cols = ceil_div(g.n, BN);
  const int blocks = gridDim.x, share = blocks - 1 - blockIdx.x;  // waits are for higher shares
  const Shares shares{shared_tiles, ceil_div(g.k, BK), blocks};
  Parts part(shares, share, tile_rows * tile_cols);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warpgroup = warp / 4;  // the consumers, then the producer
  const bool first_thread = threadIdx.x % WARPGROUP == 0;

  extern __shared__ __align__(1024) char As[];  // STAGES times As[BM][BK] and Bs, then C's pieces
  __shared__ Barrier full[STAGES], empty[STAGES];  // the slice has landed; it has been read
  char* const Bs = As + T::A_BYTES;

  let_next_kernel_begin();  // it waits for this one by itself, as this one does below
  if (threadIdx.x == 0) {
    for (Barrier& barrier : full) barrier_init(&barrier, 1);
    for (Barrier& barrier : empty) barrier_init(&barrier, CONSUMERS * 4);
    barrier_init_fence();  // the engine sees the barriers before its first bytes arrive
  }
  __syncthreads();           // nobody waits or arrives at a barrier that is not there yet
  wait_for_kernel_before();  // A and B are complete, nobody needs the old C or the sums left over

  RingPlace<STAGES> place;  // of the next slice, whatever its tile
  if (warpgroup == CONSUMERS) {
    give_registers_back<PRODUCER_REGISTERS>();
    while (first_thread && part.next()) {
      const int2 tile = tile_in_bands(part.tile, tile_rows, tile_cols, band_rows);
      for (int k = part.first * BK; k < part.end * BK; k += BK, place.advance()) {
        char* const to = As + place.stage * T::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        // The consumers have read what this stage held.
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, T::STAGE_BYTES);
        tma_load(to, a_map, k, tile.x * BM, landed);
#pragma unroll
        for (int col = 0; col < BN; col += ROW)
          tma_load(to + T::A_BYTES + col * BK * 2, b_map, tile.y * BN + col, k, landed);
      }
      // The old C comes through the ring, for the block that finishes the tile.
      const int c_stages = g.beta != 0.0f && part.first == 0 ? T::C_STAGES : 0;
      for (int c_part = 0; c_part < c_stages; ++c_part, place.advance()) {
        char* const to = As + place.stage * T::STAGE_BYTES;
        Barrier* const landed = &full[place.stage];
        barrier_wait(&empty[place.stage], place.parity ^ 1);
        barrier_arrive_expect(landed, CONSUMERS * T::AT_ONCE * PIECE_BYTES);
#pragma unroll
        for (int i = 0; i < CONSUMERS * T::AT_ONCE; ++i) {
          const int piece = c_part * T::AT_ONCE + i % T::AT_ONCE;
          tma_load(to + i * PIECE_BYTES, c_map, tile.y * BN + piece % (BN / ROW) * ROW,
                   (tile.x * CONSUMERS + i / T::AT_ONCE) * T::WM + piece / (BN / ROW) * MMA_M,
                   landed);
        }
      }
    }
  } else {
    take_registers<CONSUMER_REGISTERS>();
    const uint32_t As_read = shared_address(As) + warpgroup * T::WM * ROW_BYTES;
    const uint32_t Bs_read = shared_address(Bs);
    char* const Cs = As + T::RING_BYTES + warpgroup * T::ROOM * PIECE_BYTES;
    const auto release = [&](int stage) {
      if (lane == 0) barrier_arrive(&empty[stage]);
    };
    float acc[T::MMAS_M][BN / 2];          // 64×BN of the warpgroup each, 16×BN of a warp
    const auto sums_of = [&](int piece) {  // 32 per thread
      return acc[piece / (BN / ROW)] + piece % (BN / ROW) * (ROW / 2);
    };
    const auto add_c = [&] {
#pragma unroll
      for (int c_part = 0; c_part < T::C_STAGES; ++c_part, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const char* const boxes =
            As + place.stage * T::STAGE_BYTES + warpgroup * T::AT_ONCE * PIECE_BYTES;
#pragma unroll
        for (int i = 0; i < T::AT_ONCE; ++i)
          add_old_c<AB>(sums_of(c_part * T::AT_ONCE + i), boxes + i * PIECE_BYTES, g.alpha, g.beta);
        fence_before_async_writes();  // this lane has read what the engine will overwrite
        __syncwarp();                 // all lanes have
        release(place.stage);
      }
    };
    const auto store = [&](int2 tile, float alpha) {
#pragma unroll
      for (int piece = 0; piece < T::PIECES; ++piece) {
        const int row = (tile.x * CONSUMERS + warpgroup) * T::WM + piece / (BN / ROW) * MMA_M;
        const int col = tile.y * BN + piece % (BN / ROW) * ROW;
        char* const box = Cs + piece % T::ROOM * PIECE_BYTES;
        if (first_thread) tma_store_wait_read<T::ROOM - 1>();  // the engine has read this piece
        named_barrier_sync(1 + warpgroup, WARPGROUP);          // so the piece may be written
        stage_sums<AB>(box, sums_of(piece), alpha);
        fence_for_async_reads();                       // the engine will see what this thread wrote
        named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written and fenced
        const bool clipped_in_a_chunk = g.n % 8 != 0 && col + ROW > g.n;
        if (clipped_in_a_chunk)
          copy_box(box, g.c + row * g.ldc + col, g.ldc, g.m - row, g.n - col);
        else if (first_thread)
          tma_store(c_map, col, row, box);
        if (first_thread) tma_store_commit();  // a group per piece, if only an empty one
      }
    };
    // This thread's quad of the sums that a block leaves: neighbouring threads, neighbouring quads.
    const auto left = [&](int block, int quad) {
      return &left_sums[block][quad * CONSUMERS * WARPGROUP + threadIdx.x];
    };

    while (part.next()) {
      int stage_before = 0;
      for (int slice = part.first; slice < part.end; ++slice, place.advance()) {
        barrier_wait(&full[place.stage], place.parity);
        const int stage = place.stage * T::STAGE_BYTES;
        const uint64_t a = matrix_descriptor<Major::K>(As_read + stage, BK);
        const uint64_t b = matrix_descriptor<Major::MN>(Bs_read + stage, BK);
        wgmma_fence();  // this warp has done with the sums of the part before
#pragma unroll
        for (int k_step = 0; k_step < BK / MMA_K; ++k_step)
#pragma unroll
          for (int i = 0; i < T::MMAS_M; ++i)
            wgmma_m64k16<AB, Major::MN>(acc[i], a + k_step * NEXT_K16<Major::K> + i * NEXT_ROWS,
                                        b + k_step * NEXT_K16<Major::MN>,
                                        slice > part.first || k_step > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the slice before are done
        if (slice > part.first) release(stage_before);
        stage_before = place.stage;
      }
      wgmma_wait<0>();  // the sums are complete
      release(stage_before);

      float* const sums = acc[0];
      if (part.first > 0) {  // the tile is another block's, which finds these sums
#pragma unroll
        for (int quad = 0; quad < T::QUADS; ++quad)
          __stcg(left(blockIdx.x, quad), float4_at(sums + quad * 4));
        named_barrier_sync(1 + warpgroup, WARPGROUP);  // everyone has written
        if (first_thread) flag_raise(&left_flags[blockIdx.x][warpgroup]);
        continue;
      }
      if (part.end < shares.slices) {
        const int last = shares.last_of_tile(share, part.tile);
        for (int other = share + 1; other <= last; ++other) {
          const int block = blocks - 1 - other;
          if (first_thread) flag_wait_and_lower(&left_flags[block][warpgroup]);
          named_barrier_sync(1 + warpgroup, WARPGROUP);  // the other block's sums are there
#pragma unroll
          for (int quad = 0; quad < T::QUADS; ++quad) {
            const float4 more = __ldcg(left(block, quad));
            float* const four = sums + quad * 4;
            four[0] += more.x, four[1] += more.y, four[2] += more.z, four[3] += more.w;
          }
        }
      }
      const int2 tile = tile_in_bands(part.tile, tile_rows, tile_cols, band_rows);
      if (g.beta != 0.0f) add_c();
      store(tile, g.beta != 0.0f ? 1.0f : g.alpha);
    }
    if (first_thread) tma_store_wait_read<0>();  // shared memory ends with the block
  }
}

/// How many tiles are shared out.
enum class Shared { ALL, REST };  // REST: what whole waves leave over, and one wave more

template <class T, Shared SHARED>
void launch(const Gemm<AB, float, AB>& g, const LaunchOptions& options, cudaStream_t stream) {
  const auto kernel = stream_k_kernel<T>;
  const CUtensorMap a_map = make_tensor_map(g.a, g.m, g.k, g.lda, T::BM, BK);
  const CUtensorMap b_map = make_tensor_map(g.b, g.k, g.n, g.ldb, BK, ROW);
  const CUtensorMap c_map = make_tensor_map<AB>(g.c, g.m, g.n, g.ldc, MMA_M, ROW);
  const int band_rows = band_height(options.swizzle_stride, DEFAULT_BAND, T::BM, g.m);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SMEM_BYTES));
  const int tiles = ceil_div(g.m, T::BM) * ceil_div(g.n, T::BN), slices = ceil_div(g.k, BK);
  const int resident = min(resident_blocks(kernel, THREADS, T::SMEM_BYTES), MOST_BLOCKS);
  const int grid = tiles < resident ? min(tiles * slices, resident) : resident;  // a slice each
  const int rest = tiles % grid;
  const int shared_tiles =
      SHARED == Shared::ALL || tiles < 2 * grid ? tiles : (rest == 0 ? 0 : grid + rest);
  launch_early(!options.alone, kernel, 1, grid, THREADS, T::SMEM_BYTES, stream, a_map, b_map, c_map,
               g, band_rows, shared_tiles);
}

using Large = Tile<128, 256, 3, 4>;
using Wide = Tile<256, 192, 3, 2>;

template <class T, Shared SHARED>
Variant variant(const char* name) {
  Variant v(name, launch<T, SHARED>);
  v.any_size(T::BM, T::BN, BK).aligned_ld(8, 8, 8).flat_grid().in_bands().on_tensor_cores();
  return v;
}

std::vector<Variant> variants() {
  return {
      variant<Large, Shared::ALL>("stream_k").note("equal shares of all slices"),
      variant<Large, Shared::REST>("stream_k_rest").note("whole tiles, the last waves shared out"),
      variant<Wide, Shared::REST>("stream_k_wide").note("the same with block 256×192×64"),
  };
}

const Also added(variants);

}  // namespace
