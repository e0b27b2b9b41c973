#include "core/machine/block.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "core/base/readable.h"
#include "core/machine/cluster.h"

namespace sim {
namespace {

template <class T>
void broadcast(std::byte* slot, T value) {
  for (uint32_t lane = 0; lane < warp_size; ++lane) std::memcpy(slot + lane * sizeof(T), &value, sizeof(T));
}

constexpr uint64_t turn_instructions = 4096;

/// Of a block, in the order in which a grid is dealt out.
uint64_t number_of(Dim3 index, Dim3 grid) { return index.x + grid.x * (index.y + uint64_t{grid.y} * index.z); }

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return std::string("(") + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

}  // namespace

Zeros zeros(size_t bytes) {
  auto* const made = static_cast<std::byte*>(std::calloc(bytes, 1));
  if (!made && bytes != 0) throw std::bad_alloc();
  return Zeros(made);
}

Block::Block(Cluster& cluster, uint32_t rank)
    : cluster(cluster),
      launch(cluster.launch),
      program(launch.program),
      rank(rank),
      first_agent(rank * launch.warps()),
      shared(launch.shared_bytes()),
      shadow(cluster.clocks),
      tallies(program.code.size()),
      memos(program.memos),
      transfers(*this, launch.warps()),
      mbarriers(*this),
      registers(program, launch.warps()),
      products(*this),
      register_bytes_(zeros(size_t{launch.warps()} * program.register_bytes + 64)),
      local_(zeros(size_t{launch.warps()} * warp_size * program.local_bytes)) {
  const auto unaligned = reinterpret_cast<uintptr_t>(register_bytes_.get());
  std::byte* const first = register_bytes_.get() + (64 - unaligned % 64) % 64;
  warps_.reserve(launch.warps());
  for (uint32_t i = 0; i < launch.warps(); ++i) {
    warps_.emplace_back(*this, i, first_agent + i, first + size_t{i} * program.register_bytes);
    warps_.back().tells_readers = program.overwrites_reads && launch.options.watch;
  }
  order_.resize(launch.warps());
  std::iota(order_.begin(), order_.end(), 0u);
  fill_constants();
}

/// Constants never change, so that they outlast a block.
void Block::fill_constants() {
  for (Warp& warp : warps_) {
    for (const Program::Constant& constant : program.constants) {
      std::byte* const slot = warp.registers + constant.offset;
      switch (constant.bytes) {
        case 0: warp.predicate(constant.offset) = static_cast<uint32_t>(constant.value); break;
        case 2: broadcast(slot, static_cast<u16>(constant.value)); break;
        case 4: broadcast(slot, static_cast<u32>(constant.value + (constant.is_shared ? shared_base() : 0))); break;
        default: broadcast(slot, constant.value + (constant.is_shared ? shared_base() : 0)); break;
      }
    }
  }
}

void Block::fill_specials() {
  const Dim3 grid = launch.grid, block = launch.block, of_cluster = launch.cluster;
  for (Warp& warp : warps_) {
    for (const Program::SpecialRegister& special : program.specials) {
      u32* const slot = warp.lanes<u32>(special.offset);
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const uint32_t thread = warp.index * warp_size + lane;
        slot[lane] = [&]() -> u32 {
          switch (special.which) {
            case Special::tid_x: return thread % block.x;
            case Special::tid_y: return thread / block.x % block.y;
            case Special::tid_z: return thread / block.x / block.y;
            case Special::ntid_x: return block.x;
            case Special::ntid_y: return block.y;
            case Special::ntid_z: return block.z;
            case Special::ctaid_x: return index_.x;
            case Special::ctaid_y: return index_.y;
            case Special::ctaid_z: return index_.z;
            case Special::nctaid_x: return grid.x;
            case Special::nctaid_y: return grid.y;
            case Special::nctaid_z: return grid.z;
            case Special::smid: return static_cast<u32>(number_of(index_, grid) % launch.multiprocessors);
            case Special::nsmid: return launch.multiprocessors;
            case Special::laneid: return lane;
            case Special::warpid: return warp.index;
            case Special::nwarpid: return launch.warps();
            case Special::lanemask_eq: return 1u << lane;
            case Special::lanemask_lt: return (1u << lane) - 1;
            case Special::lanemask_le: return (2u << lane) - 1;
            case Special::lanemask_gt: return ~((2u << lane) - 1);
            case Special::lanemask_ge: return ~((1u << lane) - 1);
            case Special::dynamic_smem_size: return launch.dynamic_shared_bytes;
            case Special::total_smem_size: return launch.shared_bytes();
            case Special::clusterid_x: return index_.x / of_cluster.x;
            case Special::clusterid_y: return index_.y / of_cluster.y;
            case Special::clusterid_z: return index_.z / of_cluster.z;
            case Special::nclusterid_x: return grid.x / of_cluster.x;
            case Special::nclusterid_y: return grid.y / of_cluster.y;
            case Special::nclusterid_z: return grid.z / of_cluster.z;
            case Special::cluster_ctaid_x: return index_.x % of_cluster.x;
            case Special::cluster_ctaid_y: return index_.y % of_cluster.y;
            case Special::cluster_ctaid_z: return index_.z % of_cluster.z;
            case Special::cluster_nctaid_x: return of_cluster.x;
            case Special::cluster_nctaid_y: return of_cluster.y;
            case Special::cluster_nctaid_z: return of_cluster.z;
            case Special::cluster_ctarank: return rank;
            case Special::cluster_nctarank: return static_cast<u32>(of_cluster.count());
            case Special::is_explicit_cluster: return launch.is_explicit_cluster ? all_lanes : 0;
            case Special::envreg1: return static_cast<u32>(launch.grid_workspace() >> 32);
            case Special::envreg2: return static_cast<u32>(launch.grid_workspace());
          }
          return 0;
        }();
      }
    }
  }
}

void Block::start(Dim3 index, bool stamps_begin_anew) {
  index_ = index;
  ended_warps_ = 0;
  const uint64_t number = number_of(index, launch.grid);
  random_ = Random(launch.options.seed * 0x2545f4914f6cdd1du + number);
  fill_specials();
  std::fill(shared.begin(), shared.end(), std::byte{0xff});  // NaN as floats: an unwritten value shows
  if (launch.options.watch)
    shadow.start_block(launch.shared_bytes(), program.granule_bytes, first_agent, stamps_begin_anew,
                       program.overwrites_reads);
  barriers_ = {};
  transfers.start();
  mbarriers.start();
  registers.start();
  if (program.watches_registers) products.start();
  reductions.start();
  for (Warp& warp : warps_) {
    const uint32_t first = warp.index * warp_size;
    const uint32_t count = std::min(warp_size, launch.threads() - first);
    warp.trace = number == 0 && launch.trace != nullptr && launch.trace->warp == warp.index
                     ? launch.trace
                     : cluster.accesses_of(warp.agent);
    warp.start(count == warp_size ? all_lanes : (1u << count) - 1);
  }
}

/// The vector clocks find races whatever the order of the warps. With a seed, order and length of the turns are drawn
/// by lot.
Block::Round Block::round() {
  const bool by_lot = launch.options.seed != 0;
  if (by_lot) {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    transfers.arrive_by_lot(random_);
  }
  Round round;
  for (const uint32_t index : order_) {
    Warp& warp = warps_[index];
    if (warp.state == Warp::State::running) {
      const uint64_t turn = by_lot ? 1 + random_.below(uint64_t{16} << random_.below(9)) : turn_instructions;
      if (cluster.events && cluster.events->asked.accesses) [[unlikely]]
        run_one_by_one(warp, turn);
      else
        warp.run(turn);
      round.ran = true;
      round.progress |= !warp.only_polled();
    }
    round.alive |= warp.state != Warp::State::done;
    if (launch.given_up) return {};
  }
  return round;
}

/// For the registers that an access has read or written.
void Block::run_one_by_one(Warp& warp, uint64_t instructions) {
  while (instructions-- != 0 && warp.state == Warp::State::running && !launch.given_up) {
    warp.run(1);
    cluster.events->executed(warp.registers);
  }
}

void Block::end_warp(const Warp& ended) {
  if (program.watches_registers) products.end_warp();
  if (cluster.doubtful.any_overwritten()) cluster.doubtful.settle();
  if (cluster.doubtful.any_unverified()) cluster.doubtful.end(ended.agent);
  if (++ended_warps_ < launch.warps() || launch.given_up) return;
  if (!launch.options.watch) return;
  mbarriers.end();
  if (program.watches_registers) products.end();
  shadow.unknown_visits([&](uint32_t agent, uint32_t site) { report_late_use(agent, site); });
  cluster.async.end_block(*this);
}

void Block::check_is_alive(uint32_t agent, uint32_t site) {
  if (ended_warps_ == launch.warps()) report_late_use(agent, site);
}

void Block::report_late_use(uint32_t agent, uint32_t site) {
  report(Finding::exited_block, site, nowhere, [&] {
    return program.sites[site].text + " at " + where(site) + " by " + cluster.agent_name(agent) +
           " uses the shared memory of block " + name() + ", which may have ended by then: nothing makes it wait";
  });
}

void Block::arrive(Warp& warp, uint32_t number, uint32_t arrivals, bool waits) {
  Barrier& barrier = barriers_[number];
  if (cluster.events) [[unlikely]] {
    Event event{.kind = Event::Kind::barrier_arrive, .owner = rank, .barrier = number};
    event.agent = warp.agent, event.site = warp.here();
    if (cluster.events->leaves_out(event)) return;
  }
  if (barrier.arrived != 0 && barrier.expected != arrivals) {
    const auto claim = [&](uint32_t index, uint32_t site, uint32_t warps) {
      return "warp " + std::to_string(index) + " at " + where(site) + " counts " + std::to_string(warps * warp_size);
    };
    const auto message = [&] {
      return "barrier " + std::to_string(number) + " of block " + name() +
             ": its warps disagree about how many threads take part: " +
             claim(barrier.warp, barrier.site, barrier.expected) + ", " + claim(warp.index, warp.here(), arrivals);
    };
    return give_up(warp, Finding::divergent_barrier, message, barrier.site);
  }
  ++barrier.arrived;
  barrier.expected = arrivals;
  barrier.site = warp.here();
  barrier.warp = warp.index;
  if (waits) {
    barrier.waiting |= 1u << warp.index;
    warp.state = Warp::State::waiting;
    warp.waits_for = {.kind = Warp::Wait::Kind::barrier, .number = number, .site = warp.here()};
  } else if (launch.options.watch) {
    shadow.clocks.release(warp.agent, barrier.clock);
  }
  if (cluster.events) [[unlikely]] {
    cluster.note(warp, {.kind = Event::Kind::barrier_arrive,
                        .owner = rank,
                        .barrier = number,
                        .missing = arrivals - barrier.arrived,
                        .expected = arrivals});
  }
  if (barrier.arrived == arrivals) complete(barrier);
}

void Block::complete(Barrier& barrier) {
  reductions.deliver(static_cast<uint32_t>(&barrier - barriers_.data()));
  if (launch.options.watch) shadow.clocks.meet(first_agent, barrier.waiting, barrier.clock);
  for_lanes(barrier.waiting, [&](uint32_t warp) { warps_[warp].state = Warp::State::running; });
  if (cluster.events) [[unlikely]] {
    Event event{.kind = Event::Kind::barrier_complete,
                .owner = rank,
                .barrier = static_cast<uint32_t>(&barrier - barriers_.data()),
                .expected = barrier.expected,
                .goes_on = barrier.waiting,
                .cause = cluster.events->count() - 1};
    if (cluster.events->asked.clocks && barrier.waiting != 0)
      event.seen = shadow.clocks.known(first_agent + first_lane(barrier.waiting));
    cluster.note(std::move(event));
  }
  barrier = {};
}

std::vector<Block::BarrierState> Block::open_barriers() const {
  std::vector<BarrierState> open;
  for (uint32_t number = 0; number < barrier_count; ++number) {
    const Barrier& barrier = barriers_[number];
    if (barrier.arrived != 0) open.push_back({number, barrier.arrived, barrier.expected, barrier.waiting});
  }
  return open;
}

bool Block::release_abandoned() {
  uint32_t done = 0;
  for (const Warp& warp : warps_) done |= u32{warp.state == Warp::State::done} << warp.index;
  Barrier* waited_for = nullptr;
  uint32_t open = 0;
  for (Barrier& barrier : barriers_) {
    if (barrier.waiting == 0) continue;
    waited_for = &barrier;
    ++open;
  }
  if (open != 1 || done == 0 || waited_for->expected != launch.warps()) return false;
  // The hardware counts warps that have ended as arrived; those that wait for something else will have to come.
  if (static_cast<uint32_t>(std::popcount(done | waited_for->waiting)) != launch.warps()) return false;
  const uint32_t gone = first_lane(done);
  report(Finding::divergent_barrier, waited_for->site, nowhere, [&] {
    return "the barrier at " + where(waited_for->site) + " is reached by part of the block only: warp " +
           std::to_string(gone) + " of block " + name() + " has ended without it";
  });
  complete(*waited_for);
  return true;
}

std::string Block::state_of(const Warp& warp) const {
  const Warp::Wait& wait = warp.waits_for;
  if (warp.state == Warp::State::done) return " has ended";
  if (warp.state == Warp::State::running) return " is at " + where(warp.pc);
  const std::string at = " waits at " + where(wait.site) + " for ";
  switch (wait.kind) {
    case Warp::Wait::Kind::barrier: {
      const Barrier& barrier = barriers_[wait.number];
      return at + "barrier " + std::to_string(wait.number) + " (" + std::to_string(barrier.arrived) + " of " +
             std::to_string(barrier.expected) + " warps have come)";
    }
    case Warp::Wait::Kind::mbarrier: return at + wait.block->mbarriers.describe(wait.number);
    case Warp::Wait::Kind::cluster: return at + "the cluster barrier (" + cluster.arrivals() + ")";
    case Warp::Wait::Kind::warpgroup: return at + "the other warps of its warpgroup to commit the same wgmma";
    case Warp::Wait::Kind::registers:
      return at + std::to_string(wait.number) + " registers per thread (" + std::to_string(registers.left()) +
             " of the block's " + std::to_string(registers.size()) + " are left)";
  }
  return "";
}

std::string Block::what_it_does(const Warp& warp, uint32_t lane) const {
  const Site& site = program.sites[warp.here()];
  return site.text + " at " + program.where(site.location) + " by " + warp.block.thread(warp, lane);
}

std::string Block::name() const { return triple(index_.x, index_.y, index_.z); }

std::string Block::place(uint64_t address) const {
  const std::string text = "shared address " + hexadecimal(address);
  return launch.cluster.count() == 1 ? text : text + " of block " + name();
}

void Block::report(Finding kind, uint32_t here, uint32_t there, const std::function<std::string()>& message) {
  cluster.report(kind, here, there, message);
}

void Block::give_up(Warp& warp, Finding kind, const std::function<std::string()>& message, uint32_t there) {
  report(kind, warp.here(), there, message);
  launch.given_up = true;
  warp.state = Warp::State::done;  // no Block::end_warp: what follows means nothing
}

std::string Block::thread(uint32_t thread) const {
  const Dim3 block = launch.block;
  return "thread " + triple(thread % block.x, thread / block.x % block.y, thread / block.x / block.y) + " of block " +
         name();
}

std::byte* Block::resolve(const Warp& warp, uint32_t lane, uint64_t address, uint32_t bytes) {
  const auto [place, owner, offset] = reach(*this, address);
  const auto within = [&, offset = offset](std::byte* begin, uint64_t size) {
    return bytes <= size && offset <= size - bytes ? begin + offset : nullptr;
  };
  switch (place) {
    case Place::shared: return owner ? within(owner->shared.data(), owner->shared.size()) : nullptr;
    case Place::local: return within(local(warp) + size_t{lane} * program.local_bytes, program.local_bytes);
    case Place::parameter: return within(launch.parameters.data(), launch.parameters.size());
    default: {
      const auto range = launch.allocations.holding(address);
      return range && range->holds(address, address + bytes) ? reinterpret_cast<std::byte*>(address) : nullptr;
    }
  }
}

}  // namespace sim
