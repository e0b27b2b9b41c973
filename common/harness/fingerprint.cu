#include <algorithm>

#include "common/harness/dispatch.h"
#include "common/harness/fingerprint.h"
#include "common/harness/simulated.h"

namespace {

constexpr int THREADS = 256, MOST_BLOCKS = 1024;

template <typename T>
struct BitsOf {
  using type = std::uint32_t;
};
template <>
struct BitsOf<__half> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<__nv_bfloat16> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

// Element `at`'s share. Shares are added, so that the order in which threads come does not matter.
template <typename Bits>
__host__ __device__ std::uint64_t share_of(Bits bits, std::size_t at) {
  return mix_bits(mix_bits(at) ^ bits);
}

__host__ __device__ bool belongs(std::size_t at, int cols, int ld, Part part) {
  return part == Part::all || at % ld >= static_cast<std::size_t>(cols);
}

template <typename Bits>
__global__ void fingerprint_kernel(const Bits* data, std::size_t count, int cols, int ld, Part part,
                                   unsigned long long* sum) {
  unsigned long long mine = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count; at += step)
    if (belongs(at, cols, ld, part)) mine += share_of(data[at], at);
  atomicAdd(sum, mine);
}

template <typename Bits>
std::uint64_t on_device(const Matrix& matrix, std::size_t count, Part part) {
  unsigned long long sum = 0;
  DeviceBuffer device(sizeof sum);
  device.upload(&sum);
  const std::size_t blocks = std::min<std::size_t>(MOST_BLOCKS, (count + THREADS - 1) / THREADS);
  fingerprint_kernel<<<static_cast<unsigned>(blocks), THREADS>>>(static_cast<const Bits*>(matrix.data()), count,
                                                                 matrix.cols(), matrix.ld(), part,
                                                                 device.as<unsigned long long>());
  CUDA_CHECK(cudaGetLastError());
  device.download(&sum);
  return sum;
}

template <typename Bits>
std::uint64_t on_host(const Matrix& matrix, std::size_t count, Part part) {
  std::vector<Bits> host(count);
  CUDA_CHECK(cudaMemcpy(host.data(), matrix.data(), matrix.bytes(), cudaMemcpyDeviceToHost));
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < count; ++at)
    if (belongs(at, matrix.cols(), matrix.ld(), part)) sum += share_of(host[at], at);
  return sum;
}

}  // namespace

std::uint64_t fingerprint(const Matrix& matrix, Part part) {
  if (part == Part::padding && matrix.ld() == matrix.cols()) return 0;
  return dispatch(matrix.type(), [&](auto tag) {
    using Bits = typename BitsOf<typename decltype(tag)::type>::type;
    const std::size_t count = matrix.bytes() / sizeof(Bits);
    return simulated::active() ? on_host<Bits>(matrix, count, part) : on_device<Bits>(matrix, count, part);
  });
}
