#include "core/machine/inspection.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr uint32_t most_steps = 1u << 16;  ///< of others, that a warp may need to go on; of its own, to its line's end
constexpr uint32_t settling = ~0u;         ///< as a rank: not a step of a warp, but what is under way lands

}  // namespace

Inspection::Inspection(Launch& launch, uint64_t cluster)
    : launch_(launch), number_(cluster), memory_(launch.allocations) {
  begin_anew(0);
}

void Inspection::begin_anew(size_t steps) {
  std::vector<Done> again = std::exchange(done_, {});
  again.resize(std::min(steps, again.size()));
  memory_.restore();
  launch_.given_up = false;
  over_ = false;
  next_ = 0;
  cluster_ = std::make_unique<Cluster>(launch_);
  cluster_->start(number_);
  for (const Done& each : again) one(each.rank, each.warp);
}

/// One instruction of a warp; or, where no warp can run, what is under way lands.
bool Inspection::one(uint32_t rank, uint32_t number) {
  if (over_) return false;
  if (rank == settling) {
    over_ = cluster_->settle() == Cluster::Progress::done;
    done_.push_back({rank, number});
    return true;
  }
  if (!cluster_->step(rank, number, 1)) return false;
  over_ = launch_.given_up;
  done_.push_back({rank, number});
  return true;
}

bool Inspection::let_others_go_on(uint32_t rank, uint32_t number) {
  const uint32_t warps = launch_.warps(), all = warps * static_cast<uint32_t>(cluster_->blocks().size());
  for (uint32_t steps = 0; steps < most_steps && !over_; ++steps) {
    if (warp(rank, number).state == Warp::State::running) return true;
    bool ran = false;
    for (uint32_t i = 0; i < all && !ran; ++i) {
      next_ = (next_ + 1) % all;  // in turn, an instruction each
      ran = one(next_ / warps, next_ % warps);
    }
    if (!ran && !one(settling, 0)) return false;
    if (warp(rank, number).state == Warp::State::done) return false;
  }
  return !over_ && warp(rank, number).state == Warp::State::running;
}

bool Inspection::step(By by, uint32_t rank, uint32_t number) {
  if (over_) return false;
  if (warp(rank, number).state == Warp::State::done) {
    // It has ended: the others go on.
    for (uint32_t each = 0; each < cluster_->blocks().size(); ++each) {
      for (uint32_t other = 0; other < launch_.warps(); ++other) {
        if (warp(each, other).state != Warp::State::done) return step(by, each, other);
      }
    }
    return one(settling, 0);
  }
  const size_t before = done_.size();
  if (!let_others_go_on(rank, number)) return done_.size() != before;
  const auto begun = line(rank, number);
  const uint64_t synchronised = synchronisation();
  for (uint32_t steps = 0; steps < most_steps && !over_; ++steps) {
    if (warp(rank, number).state != Warp::State::running) {
      if (by != By::event || synchronisation() != synchronised) break;
      if (!let_others_go_on(rank, number)) break;
      continue;
    }
    one(rank, number);
    if (by == By::instruction) break;
    if (by == By::line && line(rank, number) != begun) break;
    if (by == By::event && synchronisation() != synchronised) break;
  }
  return true;
}

uint32_t Inspection::site(uint32_t rank, uint32_t number) const {
  const Warp& at = warp(rank, number);
  const auto last = static_cast<uint32_t>(launch_.program.sites.size() - 1);
  return std::min(at.state == Warp::State::waiting ? at.waits_for.site : at.pc, last);
}

std::pair<uint32_t, uint32_t> Inspection::line(uint32_t rank, uint32_t number) const {
  const ptx::Location& location = launch_.program.sites[site(rank, number)].location;
  return {location.file, location.line};
}

std::string Inspection::words(uint32_t rank, uint32_t number) const {
  return cluster_->blocks()[rank]->state_of(warp(rank, number));
}

std::optional<std::array<uint64_t, warp_size>> Inspection::lanes(uint32_t rank, uint32_t number,
                                                                 std::string_view name) const {
  const auto& all = launch_.program.registers;
  const auto known = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  if (known == all.end()) return std::nullopt;
  Warp& of = warp(rank, number);
  std::array<uint64_t, warp_size> made{};
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    switch (known->width) {
      case ptx::Width::predicate: made[lane] = of.predicate(known->offset) >> lane & 1; break;
      case ptx::Width::b8:
      case ptx::Width::b16: made[lane] = of.lanes<u16>(known->offset)[lane]; break;
      case ptx::Width::b32: made[lane] = of.lanes<u32>(known->offset)[lane]; break;
      case ptx::Width::b64: made[lane] = of.lanes<u64>(known->offset)[lane]; break;
    }
  }
  return made;
}

uint64_t Inspection::synchronisation() const {
  uint64_t sum = cluster_->phase() * 0x9e3779b97f4a7c15u;
  const auto add = [&](uint64_t number) { sum = (sum ^ number) * 0x100000001b3u + (sum >> 29); };
  for (const auto& block : cluster_->blocks()) {
    for (const auto& barrier : block->open_barriers()) add(barrier.number), add(barrier.arrived);
    for (const Mbarrier* const mbarrier : block->mbarriers.all()) {
      add(mbarrier->address), add(mbarrier->phase), add(mbarrier->pending);
      add(static_cast<uint64_t>(mbarrier->bytes));
    }
    for (uint32_t i = 0; i < launch_.warps(); ++i) {
      const Products::State products = block->products.state_of(i);
      add(products.issued), add(products.committed), add(products.under_way);
      const Warp& warp = block->warps()[i];
      add(static_cast<uint64_t>(warp.state));
      add(block->transfers.under_way(i));
    }
  }
  for (const AsyncProxy::State& each : cluster_->async.under_way()) add(each.number), add(each.landed);
  return sum;
}

}  // namespace sim
