/// The traces of a process: of the first launch of each kernel, as JSON (docs/simulator-reference.md describes it).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/checks/trace.h"
#include "core/machine/launch.h"

namespace sim {

class Traces {
 public:
  /// `warp` of the first block is traced, and of each of its instructions the first `most_requests` requests.
  Traces(uint32_t warp, uint32_t most_requests) : warp_(warp), most_requests_(most_requests) {}

  /// A trace for the next launch of a kernel; null when one of its launches was traced already.
  std::unique_ptr<Trace> begin(const Program& program);
  /// Keeps what a launch has written to its trace.
  void add(const Launch& launch, const Trace& trace);

  /// All of it, as JSON.
  std::string text() const;

 private:
  const uint32_t warp_, most_requests_;
  std::set<std::string> begun_;       ///< kernels
  std::vector<std::string> kernels_;  ///< a JSON object each
  std::map<std::string, TracedFragment> fragments_;
};

}  // namespace sim
