// Pi by chance: each thread draws points by a linear congruential generator; a ballot counts a warp's hits.
#include "program.h"

__host__ __device__ unsigned drawn(unsigned& state) { return state = state * 1664525u + 1013904223u; }

__host__ __device__ bool hits(unsigned& state) {
  const float x = (drawn(state) >> 8) * 0x1p-24f, y = (drawn(state) >> 8) * 0x1p-24f;
  return x * x + y * y < 1;
}

__global__ void draw(int points, unsigned long long* inside) {
  unsigned state = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u, count = 0;
  for (int i = 0; i < points; ++i) count += __popc(__ballot_sync(0xffffffff, hits(state)));
  if (threadIdx.x % 32 == 0) atomicAdd(inside, static_cast<unsigned long long>(count));
}

int main() {
  const int blocks = 8, threads = 128, points = 100;
  unsigned long long* const inside = to_device(std::vector<unsigned long long>{0});
  draw<<<blocks, threads>>>(points, inside);
  CHECK(cudaGetLastError());
  unsigned long long expected = 0;
  for (unsigned thread = 0; thread < blocks * threads; ++thread) {
    unsigned state = thread * 2654435761u;
    for (int i = 0; i < points; ++i) expected += hits(state);
  }
  const unsigned long long counted = to_host(inside, 1)[0];
  const double pi = 4.0 * counted / (blocks * threads * points);
  // A fused x·x + y·y may decide a point on the circle's edge otherwise than the host.
  const double disagree = std::fabs(double(counted) - double(expected));
  return std::fabs(pi - 3.14159) > 0.02 ? verdict("monte_carlo_pi, value", pi, 0)
                                        : verdict("monte_carlo_pi", disagree, 2);
}
