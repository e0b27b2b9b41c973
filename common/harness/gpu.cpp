#include "common/harness/gpu.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/harness/errors.h"
#include "common/harness/gpus_json.h"  // made by Meson of sim/devices.json
#include "common/harness/in_simulator.h"
#include "common/harness/shared_library.h"

namespace {

// The part of NVML's C interface (NVML API reference) that is used here; its header comes with few CUDA installations.
struct NvmlDeviceType;
using NvmlDevice = NvmlDeviceType*;
constexpr int NVML_OK = 0, NVML_SM_CLOCK = 1, NVML_GPU_TEMPERATURE = 0;
using NvmlInit = int();
using NvmlHandleByBusId = int(const char*, NvmlDevice*);
using NvmlDriverVersion = int(char*, unsigned);
using NvmlRead = int(NvmlDevice, unsigned*);
using NvmlReadOf = int(NvmlDevice, int, unsigned*);

// NVML, loaded once.
class Nvml {
 public:
  NvmlDevice device = nullptr;
  bool ready = false;

  Nvml() {
    if (!loaded_.loaded()) return;
    std::array<char, 32> bus_id{};
    int current = 0;
    if (cudaGetDevice(&current) != cudaSuccess) return;
    if (cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), current) != cudaSuccess) return;
    ready = call<NvmlInit>("nvmlInit_v2") &&
            call<NvmlHandleByBusId>("nvmlDeviceGetHandleByPciBusId_v2", bus_id.data(), &device);
  }

  // Whether the function called `symbol` succeeds.
  template <typename Function, typename... Arguments>
  bool call(const char* symbol, Arguments... arguments) const {
    return loaded_.function<Function>(symbol)(arguments...) == NVML_OK;
  }

 private:
  SharedLibrary loaded_{"libnvidia-ml.so.1"};
};

Nvml& nvml() {
  static Nvml instance;
  return instance;
}

// The key of a variant's peak in devices.json.
std::string peak_key(const Variant& variant) {
  const bool half_on_cuda_cores = variant.ab == DType::f16 && !variant.tensor_cores;
  if (is_fp8(variant.ab)) return "fp8";
  return half_on_cuda_cores ? "f16_cuda_cores" : name_of(variant.ab);
}

// 90 as 9.0.
std::string spoken(int capability) { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); }

// Instructions of an architecture with an `a` exist on that GPU alone.
bool runs_nowhere_else(const std::string& arch) { return arch.back() == 'a'; }

}  // namespace

double Gpu::peak_tflops(const Variant& variant) const {
  static const auto known = nlohmann::json::parse(GPUS_JSON).at("gpus");
  for (const auto& gpu : known) {
    const bool this_one = name.find(gpu.at("name").get<std::string>()) != std::string::npos;
    if (this_one && gpu.at("sms") == multiprocessors && gpu.contains("peak_tflops"))
      return gpu.at("peak_tflops").value(peak_key(variant), 0.0);
  }
  return 0;
}

std::string needed_gpu(const std::string& arch) {
  return "a GPU of compute capability " + spoken(std::stoi(arch)) +
         (runs_nowhere_else(arch) ? " and of no other (sm_" + arch + ")" : " or newer");
}

void require_runs(const Gpu& gpu, const std::string& arch) {
  const int needed = std::stoi(arch);
  if (runs_nowhere_else(arch) ? gpu.capability == needed : gpu.capability >= needed) return;
  throw BadInput("this step needs " + needed_gpu(arch) + ", and " + gpu.name + " has " + spoken(gpu.capability) +
                 (simulated::active() ? "; simulate another GPU" : "; with --sim it runs in the simulator"));
}

const Variant* stand_in(const Gpu& gpu, const std::vector<Variant>& variants, const Variant& variant) {
  const auto any_size = [](const Variant& v) { return v.multiple_m == 1 && v.multiple_n == 1 && v.multiple_k == 1; };
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const Variant& other) {
    const bool same_types = other.ab == variant.ab && other.acc == variant.acc && other.out == variant.out;
    const bool same_work = other.b_transposed == variant.b_transposed && any_size(other) == any_size(variant);
    return same_types && same_work && other.left_out.empty() && gpu.holds(other);
  });
  return found == variants.end() ? nullptr : &*found;
}

const Variant& default_on(const Gpu& gpu, const std::vector<Variant>& variants) {
  const Variant* const other = gpu.holds(variants.front()) ? nullptr : stand_in(gpu, variants, variants.front());
  return other == nullptr ? variants.front() : *other;
}

std::string too_large(const Gpu& gpu, const Variant& variant) {
  return "variant " + std::string(variant.name) + " takes " + std::to_string(variant.shared_bytes) +
         " bytes of shared memory per block, and " + gpu.name + " has " + std::to_string(gpu.shared_bytes);
}

Gpu current_gpu() {
  Gpu gpu;
  int device = 0, runtime = 0;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  gpu.name = properties.name;
  gpu.cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.l2_bytes = properties.l2CacheSize;
  gpu.capability = properties.major * 10 + properties.minor;
  gpu.shared_bytes = static_cast<int>(properties.sharedMemPerBlockOptin);
  if (simulated::active()) return gpu;  // which has no driver
  std::array<char, 96> version{};
  if (nvml().ready && nvml().call<NvmlDriverVersion>("nvmlSystemGetDriverVersion", version.data(), version.size()))
    gpu.driver = version.data();
  return gpu;
}

std::optional<Telemetry> read_telemetry() {
  const Nvml& n = nvml();
  if (!n.ready) return std::nullopt;
  Telemetry now{};
  const bool answered =
      n.call<NvmlReadOf>("nvmlDeviceGetClockInfo", n.device, NVML_SM_CLOCK, &now.sm_mhz) &&
      n.call<NvmlRead>("nvmlDeviceGetPowerUsage", n.device, &now.power_mw) &&
      n.call<NvmlReadOf>("nvmlDeviceGetTemperature", n.device, NVML_GPU_TEMPERATURE, &now.temperature_c);
  if (!answered) return std::nullopt;
  return now;
}
