#include "core/checks/trace.h"

namespace sim {

TracedRequest* Trace::request(uint32_t site, uint64_t execution, std::optional<Lanes> TracedRequest::* part) {
  std::vector<TracedRequest>& requests = instructions_[site].requests;
  if (!requests.empty() && requests.back().execution == execution && !(requests.back().*part)) return &requests.back();
  return next(site, execution);
}

TracedRequest* Trace::next(uint32_t site, uint64_t execution) {
  std::vector<TracedRequest>& requests = instructions_[site].requests;
  if (requests.size() >= most_requests_) return nullptr;
  return &requests.emplace_back(TracedRequest{.order = next_++, .execution = execution, .global = {}, .shared = {}});
}

void Trace::global(uint32_t site, uint64_t execution, const Lanes& lanes, bool store) {
  if (events_) return events_->accesses(warp, site, lanes, false, store);
  TracedRequest* const found = request(site, execution, &TracedRequest::global);
  if (found == nullptr) return;
  found->global = lanes;
  found->stores_global = store;
}

void Trace::shared(uint32_t site, uint64_t execution, const Lanes& lanes, bool store) {
  if (events_) return events_->accesses(warp, site, lanes, true, store);
  TracedRequest* const found = request(site, execution, &TracedRequest::shared);
  if (found == nullptr) return;
  found->shared = lanes;
  found->stores_shared = store;
}

void Trace::copies(uint32_t site, uint64_t execution, TracedCopy copy) {
  if (TracedRequest* const made = next(site, execution)) made->copy = std::move(copy);
}

void Trace::multiplies(uint32_t site, uint64_t execution, std::map<std::string, TracedOperand> operands,
                       uint32_t stores_under_way) {
  TracedRequest* const made = next(site, execution);
  if (made == nullptr) return;
  made->operands = std::move(operands);
  made->stores_under_way = stores_under_way;
}

}  // namespace sim
