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

/// An error's code does not tell this: the reason is for gemmSimWhy, or is said once where the program never asks it.
void say_why(const std::string& text);
/// The reason of this thread's last refusal, which is then forgotten; from the first call on nobody else says them.
std::string take_why();

/// Says once that the program used something that the simulator does not offer.
cudaError_t not_supported(const char* function);

}  // namespace sim
