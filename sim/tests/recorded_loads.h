// Loads of shared memory of which an H200 counted the wavefronts.
#pragma once

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "machine.h"

namespace sim::testing {

using AddressOf = std::function<uint32_t(uint32_t)>;

// A lane's address as the measurements write it: a sum of "16*i", "16*(i%8)", "16*(i//8)", or 0.
inline AddressOf address_of(const std::string& expression) {
  return [expression](uint32_t lane) {
    std::istringstream terms(expression);
    uint32_t sum = 0, factor = 0, by = 0;
    for (std::string term; std::getline(terms, term, '+');) {
      if (std::sscanf(term.c_str(), "%u*(i%%%u)", &factor, &by) == 2)
        sum += factor * (lane % by);
      else if (std::sscanf(term.c_str(), "%u*(i//%u)", &factor, &by) == 2)
        sum += factor * (lane / by);
      else if (std::sscanf(term.c_str(), "%u", &factor) == 1 && (factor == 0 || term.ends_with("*i")))
        sum += factor * lane;
      else
        throw std::invalid_argument(expression);
    }
    return sum;
  };
}

struct RecordedLoad {
  uint32_t bytes;
  std::string address;
  uint64_t wavefronts, conflicts;
};

inline std::vector<RecordedLoad> recorded_loads(const std::string& instruction) {
  std::ifstream file(SHARED_LOAD_WAVEFRONTS_RECORDING);
  std::vector<RecordedLoad> found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string part[5];
    for (std::string& each : part) std::getline(fields, each, ',');
    if (part[0] == instruction)
      found.push_back({static_cast<uint32_t>(std::stoul(part[1])), part[2], std::stoul(part[3]), std::stoul(part[4])});
  }
  return found;
}

}  // namespace sim::testing
