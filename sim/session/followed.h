/// Where an element of an array goes, and from where values come, as JSON (docs/simulator-reference.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/machine/provenance.h"

namespace sim {

/// An element by the number that traces and events give its array: as the launch's parameters name them.
struct AskedElement {
  size_t array = 0;
  uint64_t offset = 0;
  uint32_t bytes = 4;
};

/// Follows it through the first cluster that uses it, or through this one. Null where the launch has no such element.
nlohmann::ordered_json followed_json(const Launch& launch, const AskedElement& asked,
                                     std::optional<uint64_t> cluster = std::nullopt);

/// "array", and the rows and columns of it.
nlohmann::ordered_json sources_json(const std::vector<Provenance::Source>& sources);

}  // namespace sim
