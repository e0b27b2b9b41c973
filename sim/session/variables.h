/// The kernel's variables in shared memory, as traces and events tell of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/readable.h"
#include "core/machine/launch.h"

namespace sim {

/// Name, offset and bytes of each. What is declared in the kernel's body has a mangled name; of that the last part
/// counts.
inline nlohmann::ordered_json shared_variables_json(const Launch& launch) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [mangled, offset, bytes] : launch.program.shared_variables) {
    const std::string name = demangled(mangled);
    const size_t scope = name.rfind("::");
    all.push_back({{"name", scope == std::string::npos ? name : name.substr(scope + 2)},
                   {"offset", offset},
                   {"bytes", bytes != 0 ? bytes : launch.shared_bytes() - offset}});
  }
  return all;
}

}  // namespace sim
