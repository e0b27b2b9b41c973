#include "core/checks/reports.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace sim {

const char* name(Finding finding) {
  switch (finding) {
    case Finding::out_of_bounds: return "out of bounds";
    case Finding::misaligned: return "misaligned";
    case Finding::uninitialised: return "uninitialised read";
    case Finding::race: return "race";
    case Finding::unwaited: return "unwaited copy";
    case Finding::divergent_barrier: return "divergent barrier";
    case Finding::deadlock: return "deadlock";
    case Finding::endless: return "endless";
    case Finding::too_long: return "too long";
    case Finding::failed_assertion: return "assertion";
    case Finding::trap: return "trap";
    case Finding::tensor_map: return "tensor map";
    case Finding::mbarrier: return "mbarrier";
    case Finding::transaction_count: return "transaction count";
    case Finding::wrong_parity: return "wrong parity";
    case Finding::unfenced: return "missing proxy fence";
    case Finding::exited_block: return "exited block";
    case Finding::unwaited_product: return "unwaited product";
    case Finding::wgmma_fence: return "missing wgmma.fence";
    case Finding::swizzle: return "wrong swizzle";
    case Finding::metadata: return "sparsity metadata";
    case Finding::registers: return "registers";
    case Finding::bad_launch: return "bad launch";
    case Finding::clock: return "clock";
    case Finding::unsupported: return "unsupported";
  }
  return "?";
}

namespace {

/// The lower, the more likely the cause of what others show.
uint32_t rank(Finding kind) {
  switch (kind) {
    case Finding::unsupported:
    case Finding::bad_launch:
    case Finding::tensor_map: return 0;
    case Finding::out_of_bounds:
    case Finding::misaligned:
    case Finding::divergent_barrier:
    case Finding::transaction_count: return 1;
    case Finding::unwaited:
    case Finding::unwaited_product:
    case Finding::unfenced:
    case Finding::wgmma_fence:
    case Finding::wrong_parity: return 2;
    case Finding::race:
    case Finding::mbarrier: return 3;
    case Finding::uninitialised:
    case Finding::exited_block: return 4;
    default: return 5;  // what it came to
  }
}

/// Then the text says that __syncwarp would be enough, which it is not where two warps race at the same lines.
bool is_within_a_warp(const std::optional<Unordered>& two) {
  return two && two->first.cluster == two->second.cluster && two->first.agent == two->second.agent;
}

}  // namespace

std::vector<Mistake> gathered(std::vector<Report> reports) {
  std::stable_sort(reports.begin(), reports.end(), [](const Report& a, const Report& b) {
    return std::tuple(a.warning, rank(a.kind), is_within_a_warp(a.unordered), a.order) <
           std::tuple(b.warning, rank(b.kind), is_within_a_warp(b.unordered), b.order);
  });
  struct Group {
    Mistake mistake;
    std::set<std::string> lines;
    std::set<std::pair<std::string, std::string>> pairs;
  };
  std::vector<Group> groups;
  for (Report& report : reports) {
    const SourceLines& places = report.lines;
    const auto shares = [&](const Group& group) {
      return group.mistake.first.kind == report.kind && group.mistake.first.kernel == report.kernel &&
             (group.lines.contains(places.own_here) ||
              (!places.own_there.empty() && group.lines.contains(places.own_there)));
    };
    auto group = std::find_if(groups.begin(), groups.end(), shares);
    const auto pair = std::minmax(places.own_here, places.own_there);
    if (group == groups.end()) {
      group = groups.insert(groups.end(), Group{{.first = report, .also = {}, .times = 0}, {}, {}});
      group->pairs.insert(pair);
    } else if (group->pairs.insert(pair).second) {
      group->mistake.also.push_back(places.own_here + (places.own_there.empty() ? "" : " and " + places.own_there));
    }
    group->lines.insert(places.own_here);
    if (!places.own_there.empty()) group->lines.insert(places.own_there);
    group->mistake.times += report.times;
  }
  std::vector<Mistake> mistakes;
  for (Group& group : groups) mistakes.push_back(std::move(group.mistake));
  return mistakes;
}

void Reports::add(Finding kind, const std::string& kernel, const SourceLines& places,
                  const std::function<std::string()>& message, bool warning, uint64_t times,
                  const std::optional<Unordered>& unordered) {
  const std::scoped_lock lock(mutex_);
  // The same two lines are one finding, whichever came first; of the texts the least is kept, so that the host's
  // threads do not choose.
  const bool swapped = !places.there.empty() && places.there < places.here;
  const Key key{kernel, swapped ? places.there : places.here, swapped ? places.here : places.there, kind};
  if (const auto known = reports_.find(key); known != reports_.end()) {
    known->second.times += times;
    if (!message) return;
    std::string text = message();
    Report& kept = known->second;
    if (std::pair(is_within_a_warp(unordered), std::string_view(text)) <
        std::pair(is_within_a_warp(kept.unordered), std::string_view(kept.message)))
      kept.message = std::move(text), kept.unordered = unordered;
  } else if (message) {
    reports_[key] = {kind, kernel, message(), places, warning, times, reports_.size(), unordered};
  }
}

std::vector<Report> Reports::some(bool warnings) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Report> some;
  for (const auto& [key, report] : reports_) {
    if (report.warning == warnings) some.push_back(report);
  }
  std::stable_sort(some.begin(), some.end(), [](const Report& a, const Report& b) {
    return std::pair(rank(a.kind), is_within_a_warp(a.unordered)) <
           std::pair(rank(b.kind), is_within_a_warp(b.unordered));
  });
  return some;
}

std::vector<Report> Reports::all() const { return some(false); }
std::vector<Report> Reports::warnings() const { return some(true); }
bool Reports::empty() const { return some(false).empty(); }

void Reports::clear() {
  const std::scoped_lock lock(mutex_);
  reports_.clear();
}

}  // namespace sim
