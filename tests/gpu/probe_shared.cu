// One access to shared memory by one warp, a launch each: what tests/gpu/probe_shared.py has Nsight Compute count on a
// GPU, and the simulator predict. Reads its cases from a file, a line each: the instruction, the mask of active lanes,
// then each lane's byte address. In the simulator it prints, a line a case, what was counted.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

constexpr unsigned SHARED_BYTES = 16384;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "probe_shared: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

// How the one access is written. Each is volatile, so that neither compiler drops or widens it.
enum class Access {
  load_8,
  load_16,
  load_32,
  load_64,
  load_128,
  store_8,
  store_16,
  store_32,
  store_64,
  store_128,
  copy_4,
  copy_8,
  copy_16_ca,
  copy_16_cg,
  copy_16_zero,
  ldmatrix_x1,
  ldmatrix_x2,
  ldmatrix_x4,
  ldmatrix_x4_trans
};

template <Access ACCESS>
__device__ void access(std::uint32_t address, const void* source, uint4& r) {
  if constexpr (ACCESS == Access::load_8) asm volatile("ld.volatile.shared.u8 %0, [%1];" : "=r"(r.x) : "r"(address));
  if constexpr (ACCESS == Access::load_16) {
    std::uint16_t half;
    asm volatile("ld.volatile.shared.u16 %0, [%1];" : "=h"(half) : "r"(address));
    r.x = half;
  }
  if constexpr (ACCESS == Access::load_32) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(r.x) : "r"(address));
  if constexpr (ACCESS == Access::load_64)
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "r"(address));
  if constexpr (ACCESS == Access::load_128)
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"(address));
  if constexpr (ACCESS == Access::store_8) asm volatile("st.volatile.shared.u8 [%0], %1;" ::"r"(address), "r"(r.x));
  if constexpr (ACCESS == Access::store_16)
    asm volatile("st.volatile.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<std::uint16_t>(r.x)));
  if constexpr (ACCESS == Access::store_32) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(r.x));
  if constexpr (ACCESS == Access::store_64)
    asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(r.x), "r"(r.y));
  if constexpr (ACCESS == Access::store_128)
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r.x), "r"(r.y), "r"(r.z),
                 "r"(r.w));
  if constexpr (ACCESS == Access::copy_4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(source));
  if constexpr (ACCESS == Access::copy_8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(source));
  if constexpr (ACCESS == Access::copy_16_ca)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source));
  if constexpr (ACCESS == Access::copy_16_cg)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source));
  if constexpr (ACCESS == Access::copy_16_zero)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source), "r"(r.w));
  if constexpr (ACCESS == Access::ldmatrix_x1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r.x) : "r"(address));
  if constexpr (ACCESS == Access::ldmatrix_x2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "r"(address));
  if constexpr (ACCESS == Access::ldmatrix_x4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"(address));
  if constexpr (ACCESS == Access::ldmatrix_x4_trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"(address));
  if constexpr (ACCESS >= Access::copy_4 && ACCESS <= Access::copy_16_zero)
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
}

// `addresses` has a byte address a lane; `scratch` is a source for copies, and where what was loaded goes.
template <Access ACCESS>
__global__ void probe(const std::uint32_t* addresses, std::uint32_t mask, uint4* scratch) {
  extern __shared__ __align__(128) unsigned char shared[];
  const std::uint32_t lane = threadIdx.x, first = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  constexpr bool LOADS = ACCESS <= Access::load_128 || ACCESS >= Access::ldmatrix_x1;
  if constexpr (LOADS) {
    for (unsigned at = 4 * lane; at < SHARED_BYTES; at += 128) *reinterpret_cast<unsigned*>(shared + at) = at;
    __syncwarp();
  }
  const std::uint32_t address = first + addresses[lane];
  uint4 value{lane, 1, 2, 0};
  if constexpr (ACCESS >= Access::ldmatrix_x1)
    access<ACCESS>(address, scratch + lane, value);
  else if (mask >> lane & 1)
    access<ACCESS>(address, scratch + lane, value);
  if constexpr (LOADS) scratch[lane] = value;
}

using Kernel = void (*)(const std::uint32_t*, std::uint32_t, uint4*);
struct Case {
  const char* name;
  Kernel kernel;
};
constexpr Case cases[] = {
    {"ld.shared.8", probe<Access::load_8>},
    {"ld.shared.16", probe<Access::load_16>},
    {"ld.shared.32", probe<Access::load_32>},
    {"ld.shared.64", probe<Access::load_64>},
    {"ld.shared.128", probe<Access::load_128>},
    {"st.shared.8", probe<Access::store_8>},
    {"st.shared.16", probe<Access::store_16>},
    {"st.shared.32", probe<Access::store_32>},
    {"st.shared.64", probe<Access::store_64>},
    {"st.shared.128", probe<Access::store_128>},
    {"cp.async.ca.4", probe<Access::copy_4>},
    {"cp.async.ca.8", probe<Access::copy_8>},
    {"cp.async.ca.16", probe<Access::copy_16_ca>},
    {"cp.async.cg.16", probe<Access::copy_16_cg>},
    {"cp.async.cg.16.zero", probe<Access::copy_16_zero>},
    {"ldmatrix.x1", probe<Access::ldmatrix_x1>},
    {"ldmatrix.x2", probe<Access::ldmatrix_x2>},
    {"ldmatrix.x4", probe<Access::ldmatrix_x4>},
    {"ldmatrix.x4.trans", probe<Access::ldmatrix_x4_trans>},
};

Kernel kernel_named(const std::string& name) {
  for (const Case& each : cases)
    if (name == each.name) return each.kernel;
  std::fprintf(stderr, "probe_shared: no instruction is called '%s'\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream in(argc == 2 ? argv[1] : "");
  if (!in) {
    std::fprintf(stderr, "probe_shared: the file of cases is needed (see probe_shared.py)\n");
    return 2;
  }
  auto* const reset = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "gemmSimReset"));
  auto* const report = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "gemmSimReport"));
  std::uint32_t* addresses;
  uint4* scratch;
  std::array<std::uint32_t, 32> lanes;
  check(cudaMalloc(&addresses, sizeof lanes), "cudaMalloc");
  check(cudaMalloc(&scratch, 32 * sizeof(uint4)), "cudaMalloc");
  check(cudaMemset(scratch, 0, 32 * sizeof(uint4)), "cudaMemset");
  std::string name;
  std::uint32_t mask;
  while (in >> name >> mask) {
    for (std::uint32_t& address : lanes)
      if (!(in >> address) || address > SHARED_BYTES - 16) return 2;
    check(cudaMemcpy(addresses, lanes.data(), sizeof lanes, cudaMemcpyHostToDevice), "cudaMemcpy");
    if (reset) reset();
    kernel_named(name)<<<1, 32, SHARED_BYTES>>>(addresses, mask, scratch);
    check(cudaGetLastError(), name.c_str());
    check(cudaDeviceSynchronize(), name.c_str());
    if (report) std::printf("%s\n", report());
  }
  return 0;
}
