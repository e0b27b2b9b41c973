/// The container in which nvcc embeds PTX and machine code in a binary.
#pragma once

#include <cstdint>
#include <string_view>

#include "front/error.h"

namespace sim {

/// The PTX text within a fat binary for the newest architecture that is not above `architecture` (90 for sm_90).
/// The text lives as long as the fat binary. Throws Refused where there is none, or where it is compressed.
std::string_view find_ptx(const void* fat_binary, uint32_t architecture);

}  // namespace sim
