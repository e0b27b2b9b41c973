#include "core/checks/global_shadow.h"

#include <algorithm>
#include <bit>

namespace sim {

/// What was written in 4 KiB. For each granule a number says which write was the last, and above it the lane. Where the
/// lanes of one warp wrote a row of granules, each its own, one number stands for all of them, until somebody else
/// comes.
struct PageWrites {
  static constexpr uint32_t number_bits = 24, number_mask = (1u << number_bits) - 1;
  static constexpr size_t most_kept = 256;  ///< writes, from one launch to the next

  struct Write {
    uint32_t cluster;
    uint16_t agent;
    Scope scope;
    uint32_t stamp, site;
    uint32_t ordinary;  ///< the number of the last ordinary write, where this is a strong one over it; 0: none

    GlobalWho who(uint32_t lane) const { return {cluster, agent, static_cast<uint8_t>(lane), scope}; }
    bool operator==(const Write&) const = default;
  };

  static constexpr uint32_t in_words = ~0u;

  explicit PageWrites(uint32_t granules) : granules(granules), rows(granules / warp_size) {}

  /// What a granule's word or a number stands for; null where nobody has written in this launch.
  const Write* of(uint32_t word) const {
    const uint32_t number = word & number_mask;
    return number < oldest ? nullptr : &writes[number - oldest];
  }
  /// Whether nobody has written there.
  bool is_empty(uint32_t first, uint32_t last) const {
    uint32_t any = 0;
    for (uint32_t row = first / warp_size; row <= last / warp_size; ++row) any |= rows[row];
    return any == 0;
  }
  /// From now on `words` says who wrote there.
  void open(uint32_t first, uint32_t last) {
    for (uint32_t row = first / warp_size; row <= last / warp_size; ++row)
      if (rows[row] != in_words) open_row(row);
  }
  void open_row(uint32_t row);
  /// A granule's word, wherever it is kept.
  uint32_t word(uint32_t granule) const {
    const uint32_t row = rows[granule / warp_size];
    return row == in_words ? words[granule] : row == 0 ? 0 : row | granule % warp_size << number_bits;
  }
  uint32_t number_of(const Write& write);
  void tidy();
  void forget();

  const uint32_t granules;
  std::vector<uint32_t> rows;         ///< of 32 granules: 0, one number for all, or in_words
  std::unique_ptr<uint32_t[]> words;  ///< one per granule; null until the first row is opened
  uint32_t oldest = 1;                ///< smaller numbers are of launches before: they need not be wiped out
  std::vector<Write> writes;          ///< from the number `oldest` on
  bool only_strong = true;            ///< for all of the GPU, with no ordinary one below
};

/// What is read is kept as a list of runs of granules: it is mostly few.
struct PageReads {
  struct Read {
    uint16_t first, last;  ///< granules, both included
    GlobalWho who;
    uint32_t stamp, site;
  };
  explicit PageReads(uint32_t granules) : granules(granules) {}
  void forget() { reads.clear(); }

  const uint32_t granules;
  std::vector<Read> reads;
};

namespace {

/// What no launch needs any more, for the next: the system gives memory slowly.
template <class Part>
class Spare {
 public:
  static Spare& all() {
    static auto* const parts = new Spare;  // which outlives whatever ends with the process
    return *parts;
  }
  std::unique_ptr<Part> take(uint32_t granules) {
    {
      const std::scoped_lock lock(mutex_);
      auto& parts = parts_[granules];
      if (!parts.empty()) {
        std::unique_ptr<Part> part = std::move(parts.back());
        parts.pop_back();
        --count_;
        return part;
      }
    }
    return std::make_unique<Part>(granules);
  }
  void give(std::unique_ptr<Part> part) {
    constexpr size_t most = 16384;
    part->forget();
    const std::scoped_lock lock(mutex_);
    if (count_ == most) return;
    ++count_;
    parts_[part->granules].push_back(std::move(part));
  }

 private:
  std::mutex mutex_;
  size_t count_ = 0;
  std::map<uint32_t, std::vector<std::unique_ptr<Part>>> parts_;  ///< by granules
};

}  // namespace

struct GlobalRegion::Page : PageReads {
  using PageReads::PageReads;

  PageWrites& written() {
    if (!writes) writes = Spare<PageWrites>::all().take(granules);
    return *writes;
  }
  void forget() {
    PageReads::forget();
    if (reads.capacity() > PageWrites::most_kept) reads = {};
    if (writes) Spare<PageWrites>::all().give(std::move(writes));
  }

  uint64_t begin = 0;
  std::atomic_flag held;
  std::unique_ptr<PageWrites> writes;  ///< null until the first
};

constexpr size_t most_reads = 4096;  ///< that a page remembers

void PageWrites::open_row(uint32_t row) {
  if (!words) words.reset(new uint32_t[granules]());
  for (uint32_t lane = 0; rows[row] != 0 && lane < warp_size; ++lane)
    words[row * warp_size + lane] = rows[row] | lane << number_bits;
  rows[row] = in_words;
}

uint32_t PageWrites::number_of(const Write& write) {
  if (writes.empty() || writes.back() != write) {
    writes.push_back(write);
    only_strong &= write.scope == Scope::gpu && write.ordinary == 0;
  }
  return oldest + static_cast<uint32_t>(writes.size()) - 1;
}

/// Writes that others have written over need not be remembered.
void PageWrites::tidy() {
  if (writes.size() < size_t{4} * granules) return;
  std::vector<uint32_t> number(writes.size(), 0);
  std::vector<Write> kept;
  const auto keep = [&](uint32_t old) {
    uint32_t& its = number[old - oldest];
    if (its != 0) return its;
    kept.push_back(writes[old - oldest]);
    return its = static_cast<uint32_t>(kept.size());
  };
  for (uint32_t& row : rows) {
    if (row != 0 && row != in_words) row = keep(row);
  }
  for (uint32_t g = 0; words && g < granules; ++g) {
    const uint32_t old = words[g] & number_mask;
    words[g] = old < oldest ? 0 : (words[g] & ~number_mask) | keep(old);
  }
  for (size_t i = 0; i < kept.size(); ++i) {  // which grows
    if (const uint32_t ordinary = kept[i].ordinary) {
      const uint32_t its = keep(ordinary);
      kept[i].ordinary = its;
    }
  }
  writes = std::move(kept);
  oldest = 1;
}

void PageWrites::forget() {
  oldest += static_cast<uint32_t>(writes.size());
  if (oldest > number_mask / 2) {
    oldest = 1;
    if (words) std::fill_n(words.get(), granules, 0u);
  }
  writes.clear();
  only_strong = true;
  if (writes.capacity() > most_kept) writes = {};
  std::fill(rows.begin(), rows.end(), 0u);
}

GlobalRegion::GlobalRegion(const Allocations::Range& range, uint32_t shift)
    : begin_(range.begin),
      end_(range.end),
      shift_(shift),
      pages_((range.end - 1) / page_bytes - range.begin / page_bytes + 1) {}

GlobalRegion::~GlobalRegion() {
  for (const std::atomic<Page*>& place : pages_) {
    if (Page* const page = place.load()) Spare<Page>::all().give(std::unique_ptr<Page>(page));
  }
}

GlobalRegion::Page& GlobalRegion::page(uint64_t address) {
  std::atomic<Page*>& place = pages_[address / page_bytes - begin_ / page_bytes];
  if (Page* const known = place.load(std::memory_order_acquire)) return *known;
  auto made = Spare<Page>::all().take(page_bytes >> shift_);
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

GlobalShadow::GlobalShadow(const Allocations& allocations, uint32_t granule_bytes, bool several_threads,
                           uint64_t clusters)
    : allocations_(allocations),
      shift_(static_cast<uint32_t>(std::countr_zero(granule_bytes))),
      locks_(several_threads),
      starts_(std::min<uint64_t>(clusters, 1u << 16)) {}

uint32_t GlobalShadow::since_start(uint64_t cluster, uint32_t stamp) const {
  if (stamp == under_way_stamp || cluster >= starts_.size()) return Unordered::none;
  return stamp < starts_[cluster] ? 0 : stamp - starts_[cluster];
}

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

void GlobalShadow::check_writes(const Actor& actor, Touch touch, const GlobalRegion::Page& page, uint32_t first,
                                uint32_t last, ReportTo report) const {
  if (!page.writes || page.writes->is_empty(first, last)) return;
  PageWrites& writes = *page.writes;
  if (writes.only_strong && actor.who.scope == Scope::gpu) return;
  writes.open(first, last);
  const uint32_t* const words = writes.words.get();
  const uint32_t oldest = writes.oldest, of_first = words[first];
  uint32_t live = 0, different = 0;  // words: the compiler makes no vectors of a loop that ends in a bool
#pragma GCC ivdep
  for (uint32_t g = first; g <= last; ++g) {
    live |= (words[g] & PageWrites::number_mask) >= oldest ? 1u : 0u;
    different |= (words[g] ^ of_first) & PageWrites::number_mask;
  }
  if (live == 0) return;
  uint32_t well = 0, told = ~0u;  // neighbours mostly share their fate
  for (uint32_t g = first; g <= last; ++g) {
    const uint32_t number = words[g] & PageWrites::number_mask;
    if (number == well) continue;
    const PageWrites::Write* before = writes.of(number);
    if (!before || before->site == told) continue;
    const bool own = before->cluster == actor.who.cluster && before->agent == actor.who.agent;
    const bool under_way = before->stamp == under_way_stamp;
    GlobalWho who = before->who(words[g] >> PageWrites::number_bits);
    if (own && !under_way) {
      if (different == 0) return;
      well = number;
      continue;
    }
    if (are_strong(actor, who)) {
      // An ordinary write below it is no better for that.
      const PageWrites::Write* const ordinary = before->ordinary == 0 ? nullptr : writes.of(before->ordinary);
      const GlobalWho its = ordinary ? ordinary->who(GlobalWho::any_lane) : who;
      if (!ordinary || ordinary->site == told || is_ordered(actor, its, ordinary->stamp) ||
          is_ordered(actor, who, before->stamp)) {
        well = number;
        continue;
      }
      before = ordinary;
      who = its;
    } else if (is_ordered(actor, who, before->stamp)) {
      continue;  // another lane's may not be
    }
    // The rows of a box may share the 16 bytes at their ends, and so may the copies of one thread.
    if (sim::writes(touch) && own) continue;
    told = before->site;
    report({sim::writes(touch) ? GlobalObjection::What::write_of_write : GlobalObjection::What::read_of_write,
            page.begin + (uint64_t{g} << shift_), 1u << shift_, who, told, before->stamp,
            before->stamp == under_way_stamp, is_noticed(actor, who, before->stamp)});
  }
}

/// Reads that the write covers need not be remembered: what follows it is ordered after them, or not after it either.
void GlobalShadow::check_reads(const Actor& actor, GlobalRegion::Page& page, uint32_t first, uint32_t last,
                               ReportTo report) const {
  std::erase_if(page.reads, [&](GlobalRegion::Page::Read& read) {
    if (read.last < first || last < read.first) return false;
    const bool own =
        read.who.cluster == actor.who.cluster && read.who.agent == actor.who.agent && read.stamp != under_way_stamp;
    if (!own && !is_ordered(actor, read.who, read.stamp) && !are_strong(actor, read.who)) {
      report({GlobalObjection::What::write_of_read,
              page.begin + (uint64_t{std::max<uint32_t>(read.first, first)} << shift_), 1u << shift_, read.who,
              read.site, read.stamp, read.stamp == under_way_stamp, is_noticed(actor, read.who, read.stamp)});
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
  const uint32_t now = actor.clocks.now();
  constexpr size_t looked_at = 8;
  const size_t known = page.reads.size();
  for (size_t i = known; i > 0 && i + looked_at > known && !under_way; --i) {
    GlobalRegion::Page::Read& read = page.reads[i - 1];
    if (read.who != actor.who || read.site != actor.site) continue;
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

/// `place(note)` calls note(first granule, last granule, lane) for whatever is written.
template <class Place>
void GlobalShadow::note_writes(const Actor& actor, GlobalRegion::Page& page, uint32_t stamp, Place place) const {
  PageWrites& writes = page.written();
  writes.tidy();
  PageWrites::Write write{actor.who.cluster, actor.who.agent, actor.who.scope, stamp, actor.site, 0};
  uint32_t number = writes.number_of(write);
  const bool none_below = write.scope == Scope::none || writes.only_strong;
  place([&](uint32_t first, uint32_t last, uint32_t lane) {
    const uint32_t above = lane << PageWrites::number_bits;
    writes.open(first, last);
    uint32_t* const words = writes.words.get();
    for (uint32_t g = first; g <= last; ++g) {
      if (!none_below) {
        const PageWrites::Write* const before = writes.of(words[g]);
        const uint32_t below = !before                        ? 0
                               : before->scope != Scope::none ? before->ordinary
                                                              : words[g] & PageWrites::number_mask;
        if (below != write.ordinary) {
          write.ordinary = below;
          number = writes.number_of(write);
        }
      }
      words[g] = number | above;
    }
  });
}

void GlobalShadow::touch(const Actor& actor, Touch touch, GlobalRegion& region, GlobalSpan span, ReportTo report,
                         bool under_way) {
  const bool write = writes(touch);
  if (write) region.note_write();
  over_pages(region, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    check_writes(actor, touch, page, first, last, report);
    if (!write) return note_read(actor, page, first, last, under_way);
    if (!page.reads.empty()) check_reads(actor, page, first, last, report);
    note_writes(actor, page, under_way ? under_way_stamp : actor.clocks.now(),
                [&](auto note) { note(first, last, actor.who.lane); });
  });
}

void GlobalShadow::touch(const Actor& actor, Touch touch, GlobalRegion& region, const Lanes& lanes,
                         const Pattern& pattern, ReportTo report) {
  const bool write = writes(touch);
  if (write)
    region.note_write();
  else
    region.count_reads(static_cast<uint32_t>(pattern.runs().size()));
  const uint64_t base = lanes.address[first_lane(lanes.mask)], size = GlobalRegion::page_bytes;
  const uint64_t low = base + static_cast<uint64_t>(pattern.low()), high = base + static_cast<uint64_t>(pattern.high());
  if (low / size != (high - 1) / size || low < region.begin_ || high > region.end_)
    return touch_pages(actor, touch, region, lanes, pattern, report);
  const Hold hold(region.page(low), locks_);
  GlobalRegion::Page& page = hold.page;
  const auto granule = [&](uint64_t address) { return static_cast<uint32_t>(address % size >> shift_); };
  for (const Pattern::Run& run : pattern.runs()) {
    const uint64_t from = base + static_cast<uint64_t>(run.offset);
    const uint32_t first = granule(from), last = granule(from + run.bytes - 1);
    check_writes(actor, touch, page, first, last, report);
    if (!write)
      note_read(actor, page, first, last, false);
    else if (!page.reads.empty())
      check_reads(actor, page, first, last, report);
  }
  if (!write) return;
  const uint32_t per_lane = std::max(1u, lanes.bytes >> shift_);
  if (actor.who.scope == Scope::none && pattern.spread() == Pattern::Spread::side_by_side && per_lane == 1) {
    PageWrites& writes = page.written();
    const uint32_t first = granule(base), row = first / warp_size;
    if (first % warp_size == 0) {
      writes.tidy();
      writes.rows[row] =
          writes.number_of({actor.who.cluster, actor.who.agent, Scope::none, actor.clocks.now(), actor.site, 0});
      return;
    }
  }
  note_writes(actor, page, actor.clocks.now(), [&](auto note) {
    for_lanes(lanes.mask, [&](uint32_t lane) {
      const uint32_t first = granule(lanes.address[lane]);
      note(first, first + per_lane - 1, lane);
    });
  });
}

/// The same of lanes that lie on several pages.
void GlobalShadow::touch_pages(const Actor& actor, Touch touch, GlobalRegion& region, const Lanes& lanes,
                               const Pattern& pattern, ReportTo report) {
  const bool write = writes(touch);
  const uint64_t base = lanes.address[first_lane(lanes.mask)];
  for (const Pattern::Run& run : pattern.runs()) {
    const auto check = [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
      check_writes(actor, touch, page, first, last, report);
      if (!write)
        note_read(actor, page, first, last, false);
      else if (!page.reads.empty())
        check_reads(actor, page, first, last, report);
    };
    over_pages(region, base + static_cast<uint64_t>(run.offset), run.bytes, check);
  }
  if (!write) return;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const auto note_lane = [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
      note_writes(actor, page, actor.clocks.now(), [&](auto note) { note(first, last, lane); });
    };
    over_pages(region, lanes.address[lane], lanes.bytes, note_lane);
  });
}

std::optional<uint32_t> GlobalShadow::touched(GlobalSpan span, bool only_writes) {
  GlobalRegion* const of = region(span.begin);
  std::optional<uint32_t> site;
  if (!of) return site;
  over_pages(*of, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    for (uint32_t g = first; page.writes && g <= last && !site; ++g) {
      if (const PageWrites::Write* const write = page.writes->of(page.writes->word(g))) site = write->site;
    }
    for (const GlobalRegion::Page::Read& read : page.reads) {
      if (!only_writes && !site && read.first <= last && first <= read.last) site = read.site;
    }
  });
  return site;
}

void GlobalShadow::end_write(const GlobalWho& who, uint32_t by, uint32_t stamp, GlobalRegion& region, GlobalSpan span) {
  over_pages(region, span.begin, span.bytes, [&](GlobalRegion::Page& page, uint32_t first, uint32_t last) {
    if (!page.writes) return;
    PageWrites& writes = *page.writes;
    writes.tidy();
    writes.open(first, last);
    uint32_t of_before = 0, ended_before = 0;  // neighbours mostly are of one write
    for (uint32_t g = first; g <= last; ++g) {
      const uint32_t number = writes.words[g] & PageWrites::number_mask;
      if (number == of_before) {
        writes.words[g] = ended_before;
        continue;
      }
      const PageWrites::Write* const begun = writes.of(number);
      if (!begun || begun->cluster != who.cluster || begun->stamp != under_way_stamp) continue;
      PageWrites::Write ended = *begun;
      ended.agent = static_cast<uint16_t>(by);
      ended.stamp = stamp;
      of_before = number;
      ended_before = writes.number_of(ended) | uint32_t{GlobalWho::any_lane} << PageWrites::number_bits;
      writes.words[g] = ended_before;
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
