/// What each wavefront of an access to shared memory serves, for whoever shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/checks/pattern.h"

namespace sim {

/// A word that a wavefront serves, and a mask of the lanes that want it.
struct ServedWord {
  uint64_t word;  ///< its address / 4
  uint32_t bank, lanes;
};
/// The wavefronts of a group, of each bank at most one word. Which of a bank's words comes first is not known; here it
/// is the one that the first lane wants.
std::vector<std::vector<ServedWord>> served_words(const Lanes& lanes, const LaneGroup& group);

}  // namespace sim
