/// The container in which nvcc embeds PTX and machine code in a binary.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ptx/error.h"

namespace sim {

/// The PTX texts within a fat binary for architectures that are not above `architecture` (90 for sm_90), the newest
/// first, and of one architecture that of sm_90a before that of sm_90. At least one; the texts live as long as the fat
/// binary. Throws Refused where there is none, or where it is compressed.
std::vector<std::string_view> find_ptx(const void* fat_binary, uint32_t architecture);

}  // namespace sim
