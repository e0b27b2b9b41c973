/// The events of a process: of one cluster in the first launch of each kernel, as JSON (docs/simulator-reference.md and
/// session/events.schema.json describe it).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/checks/events.h"
#include "core/machine/launch.h"

namespace sim {

/// What was recorded of one launch.
nlohmann::ordered_json events_json(const Launch& launch, const Events& events);
/// The registers that each instruction of a kernel names, for what asks for them.
std::vector<std::vector<Events::Named>> named_registers(const Program& program, std::string_view ptx);

class EventLogs {
 public:
  explicit EventLogs(Events::Asked asked) : asked_(asked) {}

  /// For the next launch of a kernel; null when one of its launches was recorded already.
  std::unique_ptr<Events> begin(const Launch& launch, std::string_view ptx);
  /// `followed`: where an element went, or null.
  void add(const Launch& launch, const Events& events, const nlohmann::ordered_json& followed);
  /// All of it, as JSON; an event a line.
  std::string text() const;

 private:
  const Events::Asked asked_;
  std::set<std::string> begun_;       ///< kernels
  std::vector<std::string> kernels_;  ///< a JSON object each
};

/// Adds to a finding's JSON the two accesses that nothing orders, with their clocks.
void add_unordered(nlohmann::ordered_json& finding, const Unordered& two);

}  // namespace sim
