/// The container in which nvcc embeds PTX and machine code in a binary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ptx/error.h"

namespace sim {

/// PTX texts, which live as long as this and the fat binary that they are from.
struct PtxTexts {
  std::vector<std::string_view> texts;
  std::vector<std::unique_ptr<std::string>> unpacked;  ///< those that were compressed
};

/// The PTX texts within a fat binary that a GPU of `architecture` (90 for sm_90) runs, the newest first, and of one
/// architecture that of sm_90a, which no other GPU runs, before that of sm_90. At least one. Throws Refused where there
/// is none, or where nothing here can unpack it.
PtxTexts find_ptx(const void* fat_binary, uint32_t architecture);

/// Why a GPU of `architecture` does not run this PTX, by its `.target`; empty where it does.
std::string why_not_run(std::string_view ptx, uint32_t architecture);

}  // namespace sim
