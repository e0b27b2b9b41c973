/// What the checks found: once for each pair of source lines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace sim {

enum class Finding : uint8_t {
  out_of_bounds,
  misaligned,
  uninitialised,
  race,
  unwaited,
  divergent_barrier,
  deadlock,
  endless,
  too_long,
  failed_assertion,
  trap,
  tensor_map,
  mbarrier,
  transaction_count,
  wrong_parity,
  unfenced,
  exited_block,
  unwaited_product,
  wgmma_fence,
  swizzle,
  metadata,
  registers,
  bad_launch,
  unsupported,
};
/// The name under which a finding is reported.
const char* name(Finding finding);

struct Report {
  Finding kind;
  std::string kernel;
  std::string message;
};

class Reports {
 public:
  /// Adds a report, unless the same kind was reported at the same lines of the same kernel.
  void add(Finding kind, const std::string& kernel, const std::string& here, const std::string& there,
           const std::function<std::string()>& message);
  std::vector<Report> all() const;  ///< in an order that does not depend on the threads
  bool empty() const;
  void clear();

 private:
  using Key = std::tuple<std::string, std::string, std::string, Finding>;
  mutable std::mutex mutex_;
  std::map<Key, Report> reports_;
};

}  // namespace sim
