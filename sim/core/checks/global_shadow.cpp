#include "core/checks/global_shadow.h"

#include <algorithm>
#include <bit>

namespace sim {

/// Granules of 4 KiB. What is written is kept for each granule, what is read as a list of runs: it is mostly few.
struct GlobalRegion::Page {
  struct Read {
    uint16_t first, last;  ///< granules, both included
    GlobalWho who;
    uint32_t stamp, site;
  };
  /// One element per granule.
  struct Writes {
    explicit Writes(uint32_t granules)
        : memory(new uint32_t[size_t{4} * granules]),
          cluster(memory.get()),
          who(cluster + granules),
          stamp(who + granules),
          site(stamp + granules) {
      std::fill_n(cluster, granules, 0u);
    }

    const std::unique_ptr<uint32_t[]> memory;
    uint32_t* const cluster;  ///< 0 where nobody has written, and the rest means nothing
    uint32_t* const who;      ///< agent, lane and scope
    uint32_t *const stamp, *const site;
    uint32_t first = ~0u, last = 0;  ///< of those that are written
  };

  uint64_t begin = 0;
  std::atomic_flag held;
  std::unique_ptr<Writes> writes;  ///< null until the first
  std::vector<Read> reads;
};

namespace {

constexpr size_t most_reads = 4096;  ///< that a page remembers

uint32_t packed(const GlobalWho& who) {
  return who.agent | uint32_t{who.lane} << 16 | static_cast<uint32_t>(who.scope) << 24;
}
GlobalWho unpacked(uint32_t cluster, uint32_t who) {
  return {cluster, static_cast<uint16_t>(who), static_cast<uint8_t>(who >> 16), static_cast<Scope>(who >> 24)};
}

}  // namespace

GlobalRegion::GlobalRegion(const Allocations::Range& range, uint32_t shift)
    : begin_(range.begin),
      end_(range.end),
      shift_(shift),
      pages_((range.end - 1) / page_bytes - range.begin / page_bytes + 1) {}

GlobalRegion::~GlobalRegion() {
  for (const std::atomic<Page*>& page : pages_) delete page.load();
}

GlobalRegion::Page& GlobalRegion::page(uint64_t address) {
  std::atomic<Page*>& place = pages_[address / page_bytes - begin_ / page_bytes];
  if (Page* const known = place.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<Page>();
  made->begin = address / page_bytes * page_bytes;
  Page* other = nullptr;
  if (place.compare_exchange_strong(other, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *other;
}

void GlobalRegion::count_reads(uint32_t reads) {
  if (written_.load(std::memory_order_relaxed)) return;
  if (reads_.fetch_add(reads, std::memory_order_relaxed) < reads_until_quiet) return;
  quiet_.store(true, std::memory_order_relaxed);
  if (written_.load(std::memory_order_relaxed)) quiet_.store(false, std::memory_order_relaxed);
}

void GlobalRegion::note_write() {
  if (written_.load(std::memory_order_relaxed)) return;
  written_.store(true, std::memory_order_relaxed);
  quiet_.store(false, std::memory_order_relaxed);
}

/// Another of the host's threads may run a block that accesses the same page.
struct GlobalShadow::Hold {
  Hold(GlobalRegion::Page& page, bool locks) : page(page), locks(locks) {
    while (locks && page.held.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Hold() {
    if (locks) page.held.clear(std::memory_order_release);
  }
  GlobalRegion::Page& page;
  const bool locks;
};

GlobalShadow::GlobalShadow(const Allocations& allocations, uint32_t granule_bytes, bool several_threads)
    : allocations_(allocations),
      shift_(static_cast<uint32_t>(std::countr_zero(granule_bytes))),
      locks_(several_threads) {}

GlobalShadow::~GlobalShadow() = default;

GlobalRegion* GlobalShadow::region(uint64_t address) {
  const auto range = allocations_.holding(address);
  if (!range || range->read_only) return nullptr;
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<GlobalRegion>& region = regions_[range->begin];
  if (!region) region = std::make_unique<GlobalRegion>(*range, shift_);
  return region.get();
}

template <class Body>
void GlobalShadow::over_pages(GlobalRegion& region, uint64_t begin, uint64_t bytes, Body body) {
  constexpr uint64_t size = GlobalRegion::page_bytes;
  const uint64_t behind = std::min(begin + bytes, region.end_);  // lanes beyond the allocation have been reported
  for (uint64_t at = std::max(begin, region.begin_); at < behind;) {
    const uint64_t end = std::min(behind, at / size * size + size);
    const Hold hold(region.page(at), locks_);
    body(hold.page, static_cast<uint32_t>(at % size >> shift_), static_cast<uint32_t>((end - 1) % size >> shift_));
    at = end;
  }
}

bool GlobalShadow::is_ordered(const Actor& actor, const GlobalWho& before, uint32_t stamp) const {
  const GlobalWho& who = actor.who;
  if (before.cluster != who.cluster)
    return stamp != under_way_stamp &&
           actor.clocks.has_seen_other(who.agent, before.cluster - 1, before.agent, before.lane, stamp);
  if (before.agent == who.agent && stamp != under_way_stamp) return true;  // lanes of one warp are not told apart
  return stamp != under_way_stamp && actor.clocks.has_seen(who.agent, before.agent, before.lane, stamp);
}

bool GlobalShadow::is_noticed(const Actor& actor, const GlobalWho& before, uint32_t stamp) const {
  return before.cluster != actor.who.cluster && stamp != under_way_stamp &&
         actor.clocks.has_noticed_other(actor.who.agent, before.cluster - 1, before.agent, before.lane, stamp);
}

/// Accesses that are strong, and each in the other's scope, are no race.
bool GlobalShadow::are_strong(const Actor& actor, const GlobalWho& before) const {
  const uint32_t warps = actor.clocks.warps_per_block();
  const Scope needed = before.cluster != actor.who.cluster               ? Scope::gpu
                       : before.agent / warps != actor.who.agent / warps ? Scope::cluster
                                                                         : Scope::cta;
  return before.scope >= needed && actor.who.scope >= needed;
}

void GlobalShadow::check_writes(const Actor& actor, Touch touch, GlobalRegion::Page& page, uint32_t first,
                                uint32_t last, const ReportTo& report) const {
  const GlobalRegion::Page::Writes& writes = *page.writes;
  const uint32_t mine = actor.who.cluster, agent = actor.who.agent;
  if (last < writes.first || writes.last < first) return;
  const uint32_t* const cluster = writes.cluster;
  const uint32_t* const who = writes.who;
  const uint32_t* const stamp = writes.stamp;
  uint32_t wrong = 0;
#pragma GCC ivdep
  for (uint32_t g = first; g <= last; ++g) {
    const uint32_t other = (cluster[g] ^ mine) | ((who[g] ^ agent) & 0xffff) | (stamp[g] == under_way_stamp ? 1u : 0u);
    wrong |= cluster[g] != 0 ? other : 0u;
  }
  if (wrong == 0) return;
  uint32_t told = ~0u;  // neighbours mostly share their fate
  for (uint32_t g = first; g <= last; ++g) {
    if (writes.cluster[g] == 0 || writes.site[g] == told) continue;
    const GlobalWho before = unpacked(writes.cluster[g], writes.who[g]);
    if (is_ordered(actor, before, writes.stamp[g]) || are_strong(actor, before)) continue;
    // The rows of a box may share the 16 bytes at their ends, and so may the copies of one thread.
    if (sim::writes(touch) && before.cluster == mine && before.agent == agent) continue;
    told = writes.site[g];
    report({sim::writes(touch) ? GlobalObjection::What::write_of_write : GlobalObjection::What::read_of_write,
            page.begin + (uint64_t{g} << shift_), 1u << shift_, before, told, writes.stamp[g] == under_way_stamp,
            is_noticed(actor, before, writes.stamp[g])});
  }
}

/// Reads that the write covers need not be remembered: what follows it is ordered after them, or not after it either.
void GlobalShadow::check_reads(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last,
                               const ReportTo& report) const {
  std::erase_if(page.reads, [&](GlobalRegion::Page::Read& read) {
    if (read.last < first || last < read.first) return false;
    const bool own =
        read.who.cluster == actor.who.cluster && read.who.agent == actor.who.agent && read.stamp != under_way_stamp;
    if (!own && !is_ordered(actor, read.who, read.stamp) && !are_strong(actor, read.who)) {
      report({GlobalObjection::What::write_of_read,
              page.begin + (uint64_t{std::max<uint32_t>(read.first, first)} << shift_), 1u << shift_, read.who,
              read.site, read.stamp == under_way_stamp, is_noticed(actor, read.who, read.stamp)});
    }
    if (first <= read.first && read.last <= last) return true;
    if (read.last <= last)
      read.last = static_cast<uint16_t>(first - 1);
    else if (first <= read.first)
      read.first = static_cast<uint16_t>(last + 1);
    return false;
  });
}

void GlobalShadow::note_read(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last,
                             bool under_way) const {
  const uint32_t now = actor.clocks.now(), who = packed(actor.who);
  constexpr size_t looked_at = 8;
  const size_t known = page.reads.size();
  for (size_t i = known; i > 0 && i + looked_at > known && !under_way; --i) {
    GlobalRegion::Page::Read& read = page.reads[i - 1];
    if (read.who.cluster != actor.who.cluster || packed(read.who) != who || read.site != actor.site) continue;
    const bool same = read.first == first && read.last == last;
    if (!same && (read.stamp != now || read.last + 1u < first || last + 1u < read.first)) continue;
    read.first = static_cast<uint16_t>(std::min<uint32_t>(read.first, first));
    read.last = static_cast<uint16_t>(std::max<uint32_t>(read.last, last));
    read.stamp = now;
    return;
  }
  if (known == most_reads) page.reads.erase(page.reads.begin(), page.reads.begin() + most_reads / 2);
  page.reads.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(last), actor.who,
                        under_way ? under_way_stamp : now, actor.site});
}

void GlobalShadow::note_write(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last,
                              uint32_t stamp) const {
  GlobalRegion::Page::Writes& writes = *page.writes;
  const uint32_t who = packed(actor.who), count = last + 1 - first;
  std::fill_n(writes.cluster + first, count, actor.who.cluster);
  std::fill_n(writes.who + first, count, who);
  std::fill_n(writes.stamp + first, count, stamp);
  std::fill_n(writes.site + first, count, actor.site);
  writes.first = std::min(writes.first, first);
  writes.last = std::max(writes.last, last);
}

void GlobalShadow::touch(const Actor& actor, Touch touch, GlobalRegion& region, GlobalSpan span, const ReportTo& report,
                         bool under_way) {
  const bool write = writes(touch);
  if (write) region.note_write();
  over_pages(region, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    if (page.writes) check_writes(actor, touch, page, first, last, report);
    if (!write) return note_read(actor, page, first, last, under_way);
    if (!page.reads.empty()) check_reads(actor, page, first, last, report);
    if (!page.writes) page.writes = std::make_unique<GlobalRegion::Page::Writes>(GlobalRegion::page_bytes >> shift_);
    note_write(actor, page, first, last, under_way ? under_way_stamp : actor.clocks.now());
  });
}

void GlobalShadow::touch(const Actor& actor, Touch touch, GlobalRegion& region, const Lanes& lanes,
                         const Pattern& pattern, const ReportTo& report) {
  if (!writes(touch)) region.count_reads(static_cast<uint32_t>(pattern.runs().size()));
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  for (const Pattern::Run& run : pattern.runs())
    this->touch(actor, touch, region, {base + static_cast<uint64_t>(run.offset), run.bytes}, report);
  if (writes(touch)) note_lanes(actor, region, lanes, pattern);
}

/// Who of the warp wrote what.
void GlobalShadow::note_lanes(const Actor& actor, GlobalRegion& region, const Lanes& lanes, const Pattern& pattern) {
  const auto note = [&](GlobalRegion::Page& page, uint32_t first, uint32_t last, uint32_t lane) {
    GlobalWho who = actor.who;
    who.lane = static_cast<uint8_t>(lane);
    std::fill_n(page.writes->who + first, last + 1 - first, packed(who));
  };
  const uint64_t base = lanes.address[0], size = GlobalRegion::page_bytes;
  const uint32_t per_lane = lanes.bytes >> shift_;
  const uint64_t behind = base + warp_size * lanes.bytes;
  const bool within = region.begin_ <= base && behind <= region.end_;
  if (pattern.spread() == Pattern::Spread::side_by_side && within && base / size == (behind - 1) / size) {
    const Hold hold(region.page(base), locks_);
    const uint32_t first = static_cast<uint32_t>(base % size >> shift_);
    GlobalWho who = actor.who;
    who.lane = 0;
    uint32_t* const to = hold.page.writes->who + first;
    const uint32_t of_first = packed(who);
    if (per_lane == 1) {
      for (uint32_t lane = 0; lane < warp_size; ++lane) to[lane] = of_first + (lane << 16);
    } else {
      for (uint32_t lane = 0; lane < warp_size; ++lane)
        std::fill_n(to + lane * per_lane, per_lane, of_first + (lane << 16));
    }
    return;
  }
  for_lanes(lanes.mask, [&](uint32_t lane) {
    over_pages(region, lanes.address[lane], lanes.bytes,
               [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) { note(page, first, last, lane); });
  });
}

std::optional<uint32_t> GlobalShadow::touched(GlobalSpan span, bool only_writes) {
  GlobalRegion* const of = region(span.begin);
  std::optional<uint32_t> site;
  if (!of) return site;
  over_pages(*of, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    for (uint32_t g = first; page.writes && g <= last && !site; ++g) {
      if (page.writes->cluster[g] != 0) site = page.writes->site[g];
    }
    for (const GlobalRegion::Page::Read& read : page.reads) {
      if (!only_writes && !site && read.first <= last && first <= read.last) site = read.site;
    }
  });
  return site;
}

void GlobalShadow::end_write(const GlobalWho& who, uint32_t by, uint32_t stamp, GlobalRegion& region, GlobalSpan span) {
  GlobalWho ended = who;
  ended.agent = static_cast<uint16_t>(by);
  ended.lane = GlobalWho::any_lane;
  over_pages(region, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    if (!page.writes) return;
    GlobalRegion::Page::Writes& writes = *page.writes;
    for (uint32_t g = first; g <= last; ++g) {
      if (writes.cluster[g] != who.cluster || writes.stamp[g] != under_way_stamp) continue;
      ended.scope = static_cast<Scope>(writes.who[g] >> 24);
      writes.who[g] = packed(ended);
      writes.stamp[g] = stamp;
    }
  });
}

void GlobalShadow::end_read(const GlobalWho& who, uint32_t by, uint32_t stamp, GlobalRegion& region, GlobalSpan span) {
  over_pages(region, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    for (GlobalRegion::Page::Read& read : page.reads) {
      const bool own = read.who.cluster == who.cluster && read.who.agent == who.agent && read.who.lane == who.lane;
      if (!own || read.stamp != under_way_stamp || read.first < first || last < read.last) continue;
      read.who.agent = static_cast<uint16_t>(by);
      read.who.lane = GlobalWho::any_lane;
      read.stamp = stamp;
      return;  // a multicast copy has begun as many as it has receivers
    }
  });
}

}  // namespace sim
