#include "core/checks/reports.h"

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
    case Finding::unsupported: return "unsupported";
  }
  return "?";
}

void Reports::add(Finding kind, const std::string& kernel, const std::string& here, const std::string& there,
                  const std::function<std::string()>& message) {
  const std::scoped_lock lock(mutex_);
  // The same two lines are one finding, whichever came first; of the texts the least is kept, so that the host's
  // threads do not choose.
  const bool swapped = !there.empty() && there < here;
  const Key key{kernel, swapped ? there : here, swapped ? here : there, kind};
  Report report{kind, kernel, message()};
  const auto [entry, fresh] = reports_.try_emplace(key, report);
  if (!fresh && report.message < entry->second.message) entry->second = std::move(report);
}

std::vector<Report> Reports::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Report> all;
  for (const auto& [key, report] : reports_) all.push_back(report);
  return all;
}

bool Reports::empty() const {
  const std::scoped_lock lock(mutex_);
  return reports_.empty();
}

void Reports::clear() {
  const std::scoped_lock lock(mutex_);
  reports_.clear();
}

}  // namespace sim
