// Compiled once per architecture: Meson defines STEP_ARCH, and links each step with the object that is its own.
#include "common/harness/gpu.h"

const char* step_arch() { return STEP_ARCH; }
