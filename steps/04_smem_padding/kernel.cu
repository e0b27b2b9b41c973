// Step 04: A's tile is stored transposed, and one more column removes the bank conflicts that this
// makes.
//
// The idea: later steps read several rows of A at one k, so they want As[k][row]. The copy runs
// along k in global memory, so a warp's 32 lanes store down a column of As. With a pitch of 32
// floats they all hit one bank: 32 passes for one store. With a pitch of 33, each hits its own.
//
// Against step 03: As is transposed and padded, and a thread takes two rows of C. Transposed, four
// k of a row no longer lie side by side for one 16-byte load: one result a thread would cost 2
// loads per FMA (variant one_row), where step 03 has 5 for 4. A second row shares the load of B: 3
// for 2.
//
// Source: gemm_32x32_v3 and v4 of the V100 SGEMM article (wuk), cuda_kernel_sgemm_2 (Alcanderian).

#include "common/device/check.h"
#include "common/device/epilogue.h"
#include "common/device/gemm.h"
#include "common/device/tiles.h"

constexpr int BM = 32;  // rows of C a block covers
constexpr int BN = 32;  // columns of C a block covers
constexpr int BK = 32;  // depth of a slice of K
static_assert(BK == BM && BK == BN, "one thread map serves both tiles");

enum class Map {
  a_transposed,  // As[k][row], Bs[k][col]: the step's own
  lane_rows,     // As[k][row], Bs[col][k]: a lane stores down a column of both tiles (wuk)
  lanes_down,    // As[row][k], Bs[k][col], lanes down a column of C, bounds checks inside the loop
                 // (Alcanderian)
};

/// PAD: floats added to the rows of As (and of Bs where lanes walk down it). TM: rows of C a thread
/// computes.
template <Map MAP, int PAD, int TM>
__global__ void __launch_bounds__(BM* BN / TM, 2 * TM) gemm_kernel(Gemm<float> g) {
  constexpr bool A_TRANSPOSED = MAP != Map::lanes_down;
  constexpr bool B_TRANSPOSED = MAP == Map::lane_rows;
  constexpr bool CHECKED = MAP == Map::lanes_down;
  constexpr int ROW_STEP = BM / TM;  // a thread's rows are this far apart
  static_assert(TM == 1 || MAP == Map::a_transposed, "the published maps have one row a thread");
  const int block_row = blockIdx.y * BM;
  const int block_col = blockIdx.x * BN;
  const int tile_row = MAP == Map::lanes_down ? threadIdx.x : threadIdx.y;
  const int tile_col = MAP == Map::lanes_down ? threadIdx.y : threadIdx.x;

  const float* a = g.a + (block_row + tile_row) * g.lda + tile_col;
  const float* b = g.b + tile_row * g.ldb + block_col + tile_col;

  __shared__ float As[BK][BM + PAD];  // [k][row]; lanes_down: [row][k]
  __shared__ float Bs[BK]
                     [BN + (MAP == Map::a_transposed ? 0 : PAD)];  // [k][col]; lane_rows: [col][k]

  float a_copy[TM], b_copy[TM];  // on their way from global to shared memory
  float acc[TM] = {};

  for (int k0 = 0; k0 < g.k; k0 += BK) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int r = tile_row + i * ROW_STEP;
      const bool a_inside = !CHECKED || (block_row + r < g.m && k0 + tile_col < g.k);
      const bool b_inside = !CHECKED || (k0 + r < g.k && block_col + tile_col < g.n);
      a_copy[i] = a_inside ? a[i * ROW_STEP * g.lda] : 0.0f;
      b_copy[i] = b_inside ? b[i * ROW_STEP * g.ldb] : 0.0f;
    }
    a += BK;
    b += BK * g.ldb;
    __syncthreads();  // everyone has read the previous slice before this one overwrites it
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int r = tile_row + i * ROW_STEP;
      (A_TRANSPOSED ? As[tile_col][r] : As[r][tile_col]) = a_copy[i];
      (B_TRANSPOSED ? Bs[tile_col][r] : Bs[r][tile_col]) = b_copy[i];
    }
    __syncthreads();  // the slice is complete before anyone reads it

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float b_frag = B_TRANSPOSED ? Bs[tile_col][k] : Bs[k][tile_col];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const int r = tile_row + i * ROW_STEP;
        acc[i] += (A_TRANSPOSED ? As[k][r] : As[r][k]) * b_frag;
      }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = block_row + tile_row + i * ROW_STEP;
    const int col = block_col + tile_col;
    if (CHECKED && (row >= g.m || col >= g.n)) return;
    float* c = g.c + row * g.ldc + col;
    *c = scaled(g.alpha, acc[i], g.beta, c);
  }
}

template <Map MAP, int PAD, int TM>
void launch(const Gemm<float>& g, const LaunchOptions&, cudaStream_t stream) {
  const dim3 block(BN, BM / TM);
  const dim3 grid(ceil_div(g.n, BN), ceil_div(g.m, BM));
  gemm_kernel<MAP, PAD, TM><<<grid, block, 0, stream>>>(g);
  CUDA_CHECK(cudaGetLastError());
}

std::vector<Variant> variants() {
  return {
      Variant("padded", launch<Map::a_transposed, 1, 2>).tile(BM, BN, BK),
      Variant("unpadded", launch<Map::a_transposed, 0, 2>)
          .tile(BM, BN, BK)
          .note("A's stores: 32-way conflicts"),
      Variant("one_row", launch<Map::a_transposed, 1, 1>)
          .tile(BM, BN, BK)
          .note("one result a thread"),
      Variant("lane_rows", launch<Map::lane_rows, 0, 1>)
          .tile(BM, BN, BK)
          .covers("wuk gemm_32x32_v3"),
      Variant("lane_rows_padded", launch<Map::lane_rows, 1, 1>)
          .tile(BM, BN, BK)
          .covers("wuk gemm_32x32_v4"),
      Variant("checked_lanes_down", launch<Map::lanes_down, 1, 1>)
          .any_size(BM, BN, BK)
          .note("bounds checks inside the loop; any size")
          .covers("Alcanderian 2"),
  };
}
