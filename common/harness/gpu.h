// The GPU: what it is, how fast it could be, and what it is doing right now.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/device/gemm.h"

/// What a record says about the machine, and what limits a run.
struct Gpu {
  std::string name;    // "NVIDIA H200"
  std::string driver;  // "580.159.03"; empty where NVML does not answer
  std::string cuda;    // runtime version, "13.0"
  int multiprocessors;
  std::size_t l2_bytes;
  int capability;  // its compute capability: 90 for 9.0

  /// Theoretical peak in TFLOPS of the units that the variant runs on, as records/gpus.json has it for the charts.
  /// 0 for a GPU or a type that it does not have.
  double peak_tflops(const Variant& variant) const;
};

/// The least architecture that this executable's step is compiled for, as steps/meson.build has it: "80"; "90a", an `a`
/// at its end, is the only one.
const char* step_arch();

/// The GPUs that run what is compiled for `arch`, in words: "a GPU of compute capability 8.0 or newer".
std::string needed_gpu(const std::string& arch);

/// Throws BadInput, with what would work, where the GPU cannot run what is compiled for `arch`.
void require_runs(const Gpu& gpu, const std::string& arch);

/// The current device. Throws CudaError.
Gpu current_gpu();

/// Clock, power and temperature at this moment; NVML's figures.
struct Telemetry {
  unsigned sm_mhz, power_mw, temperature_c;
};

/// Reads NVML. Empty where it is not installed or refuses. The library is loaded at the first call.
std::optional<Telemetry> read_telemetry();
