// Whether the runtime is the simulator: all that the harness's .cu files ask of it. The rest, with JSON in it, is in
// simulated.h, which nvcc would read for longer than everything else.
#pragma once

namespace simulated {

/// Whether the CUDA runtime of this process is the simulator.
bool active();

}  // namespace simulated
