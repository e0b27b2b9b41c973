/// What the checks found: once for each pair of source lines, with how often, and gathered to mistakes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
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
  clock,
  unsupported,
};
/// The name under which a finding is reported.
const char* name(Finding finding);

/// Lines of a finding: where it shows, and the earlier instruction that it is about, where there is one. Each as code
/// that may be inlined from elsewhere, and as the line in the kernel's own file that called it.
struct SourceLines {
  std::string here, there;
  std::string own_here, own_there;
};

/// Two accesses that nothing orders. Stamps are the logical time of each one's cluster, from its start on. A clock has
/// for each agent of a cluster the stamp up to which its accesses came before. Neither access came before the other:
/// first.stamp > seen[first.agent], and second.stamp > first_seen[second.agent].
struct Unordered {
  static constexpr uint32_t none = ~0u;  ///< as a stamp: still under way, or not known
  struct Side {
    uint64_t cluster;  ///< number in the grid
    uint32_t agent;    ///< number in the cluster of the warp, or of whoever acts for it
    std::string name;  ///< "warp 1 of block (0,0,0)"
    uint32_t stamp;    ///< of its access
  };
  Side first, second;
  std::vector<uint32_t> seen;  ///< the second's clock at its access, of the first's cluster
  /// The first's clock at the second's access: of the second's cluster, and empty where the first is of another one,
  /// or no warp. No less than at its own access, since a clock only grows; no more either where it has last grown at
  /// a stamp below that of its access.
  std::vector<uint32_t> first_seen = {};
  uint32_t first_learnt = none;  ///< when it has last grown

  bool is_within_a_cluster() const { return first.cluster == second.cluster; }
};

struct Report {
  Finding kind;
  std::string kernel;
  std::string message;
  SourceLines lines;
  bool warning = false;  ///< doubtful, or without harm here: no error
  uint64_t times = 1;
  uint64_t order = 0;  ///< of the first time
  std::optional<Unordered> unordered = {};
};

/// Findings that one mistake may explain: the same kind in one kernel, each with a line in common with another.
struct Mistake {
  Report first;
  std::vector<std::string> also;  ///< "a.cu:12 and a.cu:30", the pairs of lines of the others
  uint64_t times = 0;
};

/// What is a cause before what is a consequence: a missing barrier before the value that it leaves uninitialised.
std::vector<Mistake> gathered(std::vector<Report> reports);

class Reports {
 public:
  /// Adds a report, or one more time to one of the same kind at the same lines of the same kernel.
  void add(Finding kind, const std::string& kernel, const SourceLines& places,
           const std::function<std::string()>& message, bool warning = false, uint64_t times = 1,
           const std::optional<Unordered>& unordered = std::nullopt);
  void add(Finding kind, const std::string& kernel, const std::string& here, const std::string& there,
           const std::function<std::string()>& message) {
    add(kind, kernel, SourceLines{here, there, here, there}, message);
  }
  std::vector<Report> all() const;       ///< errors, in an order that does not depend on the threads
  std::vector<Report> warnings() const;  ///< the others
  bool empty() const;                    ///< of errors
  void clear();

 private:
  using Key = std::tuple<std::string, std::string, std::string, Finding>;
  std::vector<Report> some(bool warnings) const;

  mutable std::mutex mutex_;
  std::map<Key, Report> reports_;
};

}  // namespace sim
