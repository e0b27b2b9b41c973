/// The error that a runtime call leaves behind.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace sim {

/// Remembers an error for cudaGetLastError and returns it; success leaves what was there.
cudaError_t returned(cudaError_t error);

/// A launch that failed while it ran: every call that waits for the device returns this from then on.
void device_failed(cudaError_t error);
cudaError_t device_state();

/// "simulator: " and the text on the standard error stream, the first time only.
void say_once(const std::string& text);

/// Says once that the program used something that the simulator does not offer.
cudaError_t not_supported(const char* function);

}  // namespace sim
