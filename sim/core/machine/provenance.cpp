#include "core/machine/provenance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "core/wgmma/descriptor.h"

namespace sim {
namespace {

constexpr uint64_t most_retraced = uint64_t{1} << 22;
constexpr size_t most_marks = 20000;
constexpr uint32_t most_polls =
    1u << 12;  ///< rounds in which a cluster only looks for what others do, and they do not run

/// What may change global memory, or read it: all but what is known not to. A step by anything else needs no memory of
/// its own.
bool may_touch_global(const Site& site) {
  switch (site.counted_as) {
    case Class::fma:
    case Class::integer:
    case Class::floating:
    case Class::convert:
    case Class::move:
    case Class::predicate:
    case Class::branch:
    case Class::shuffle: return false;
    case Class::load_shared:
    case Class::store_shared:
      return site.text.find(".shared") == std::string::npos && !site.text.starts_with("ldmatrix");
    case Class::tensor: return site.text.starts_with("wmma.");
    default: return !site.text.starts_with("ld.param");
  }
}

bool may_write_shared(const Site& site) {
  return site.counted_as == Class::store_shared ||
         (may_touch_global(site) && site.counted_as != Class::load_global && site.counted_as != Class::store_global) ||
         (site.text.starts_with("st") && site.text.find(".global") == std::string::npos);
}

bool is_arithmetic(Class of) { return of == Class::fma || of == Class::floating || of == Class::tensor; }

void exchange(std::byte* a, std::byte* b, size_t bytes) {
  std::array<std::byte, 4096> room;
  for (size_t at = 0; at < bytes; at += room.size()) {
    const size_t part = std::min(room.size(), bytes - at);
    std::memcpy(room.data(), a + at, part);
    std::memcpy(a + at, b + at, part);
    std::memcpy(b + at, room.data(), part);
  }
}

/// Calls body(index) for each byte in which two runs of memory differ.
template <class Body>
void for_different(const std::byte* a, const std::byte* b, size_t bytes, Body body) {
  constexpr size_t piece = 256;
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t part = std::min(piece, bytes - at);
    if (std::memcmp(a + at, b + at, part) == 0) continue;
    for (size_t i = at; i < at + part; ++i)
      if (a[i] != b[i]) body(i);
  }
}

uint32_t bytes_of(ptx::Width width) { return std::max(2u, static_cast<uint32_t>(width)); }

}  // namespace

/// A cluster that runs by itself, with reports that nobody reads.
struct Provenance::Twin {
  Twin(const Provenance& of, uint64_t number) : launch(of.launch()), cluster(*launch) { cluster.start(number); }

  Warp& warp(uint32_t rank, uint32_t number) { return cluster.blocks()[rank]->warps()[number]; }

  /// Goes on for so many steps, or to its end, in the order in which elements are followed.
  void run(uint64_t steps) {
    for (uint64_t done = 0; done < steps && done < most_retraced;) {
      bool ran = false;
      for (uint32_t rank = 0; rank < cluster.blocks().size(); ++rank) {
        for (uint32_t i = 0; i < launch->warps() && done < steps; ++i) {
          if (!cluster.step(rank, i, 1)) continue;
          ran = true;
          ++done;
        }
      }
      if (done == steps) return;
      if (!ran && (++done, cluster.settle() == Cluster::Progress::done)) return;
    }
  }

  std::unique_ptr<Launch> launch;
  Cluster cluster;
};

Provenance::Provenance(const Launch& launch) : launch_(launch), memory_(launch.allocations) {}

Provenance::~Provenance() { memory_.restore(); }

std::unique_ptr<Launch> Provenance::launch() const {
  // Whether somebody made this finding before does not matter: a launch of its own, of which nothing is kept.
  static thread_local Reports reports;
  reports.clear();
  return std::unique_ptr<Launch>(new Launch{.program = launch_.program,
                                            .grid = launch_.grid,
                                            .block = launch_.block,
                                            .dynamic_shared_bytes = launch_.dynamic_shared_bytes,
                                            .parameters = launch_.parameters,
                                            .allocations = launch_.allocations,
                                            .reports = reports,
                                            .options = launch_.options,
                                            .cluster = launch_.cluster,
                                            .is_explicit_cluster = launch_.is_explicit_cluster,
                                            .multiprocessors = launch_.multiprocessors,
                                            .global = nullptr,
                                            .before = nullptr});
}

/// Another value in every byte, of the other sign, and so large that no rounding of a sum hides it, whatever type it
/// has.
void Provenance::change(Element element) {
  auto* const at = reinterpret_cast<std::byte*>(element.address);
  const auto put = [&](auto large) {
    using Bits = decltype(large);
    Bits bits;
    std::memcpy(&bits, at, sizeof bits);
    large = static_cast<Bits>(large | (~bits & Bits{1} << (8 * sizeof bits - 1)));
    for (size_t i = 0; i < sizeof bits; ++i) {
      const auto of_byte = [i](Bits each) { return each >> 8 * i & 0xff; };
      if (of_byte(large) == of_byte(bits)) large = static_cast<Bits>(large ^ Bits{2} << 8 * i);
    }
    std::memcpy(at, &large, sizeof large);
  };
  switch (element.bytes) {
    case 1: return put(uint8_t{0x78});                 // 256 of e4m3, 32768 of e5m2
    case 2: return put(uint16_t{0x7801});              // 2^15 of f16, 2^113 of bf16
    case 4: return put(uint32_t{0x5f010101});          // 2^63
    case 8: return put(uint64_t{0x5ff0010101010101});  // 2^512
    default:
      for (uint32_t i = 0; i < element.bytes; ++i) at[i] ^= std::byte{1};
  }
}

void Provenance::run_whole(uint64_t number) const {
  Twin alone(*this, number);
  uint32_t polls = 0;
  for (auto now = Cluster::Progress::running; now != Cluster::Progress::done && polls < most_polls;) {
    now = alone.cluster.round();
    polls = now == Cluster::Progress::polling ? polls + 1 : 0;
  }
}

namespace {

/// The bytes, joined where they touch; those of the element itself are none.
class Joined {
 public:
  explicit Joined(Provenance::Element element) : element_(element) {}
  void add(uint64_t address) {
    if (address >= element_.address && address < element_.address + element_.bytes) return;
    bytes_.insert(address);
  }
  bool empty() const { return bytes_.empty(); }
  std::vector<Provenance::Element> all() const {
    std::vector<Provenance::Element> made;
    for (const uint64_t address : bytes_) {
      if (!made.empty() && made.back().address + made.back().bytes == address)
        ++made.back().bytes;
      else
        made.push_back({address, 1});
    }
    return made;
  }

 private:
  const Provenance::Element element_;
  std::set<uint64_t> bytes_;
};

}  // namespace

Provenance::Uses Provenance::uses_of(Element element) {
  Uses found;
  Joined all(element);
  std::vector<std::vector<std::byte>> as_usual(memory_.parts.size());
  for (uint64_t number = 0; number < launch_.clusters(); ++number) {
    memory_.restore();
    run_whole(number);
    for (size_t i = 0; i < memory_.parts.size(); ++i) {
      const auto* const begin = reinterpret_cast<const std::byte*>(memory_.parts[i].address);
      as_usual[i].assign(begin, begin + memory_.parts[i].bytes.size());
    }
    memory_.restore();
    change(element);
    run_whole(number);
    Joined of_this(element);
    for (size_t i = 0; i < memory_.parts.size(); ++i) {
      for_different(
          reinterpret_cast<const std::byte*>(memory_.parts[i].address), as_usual[i].data(), as_usual[i].size(),
          [&](size_t at) { of_this.add(memory_.parts[i].address + at), all.add(memory_.parts[i].address + at); });
    }
    if (!of_this.empty()) found.clusters.push_back(number);
  }
  memory_.restore();
  found.feeds = all.all();
  return found;
}

std::optional<uint64_t> Provenance::writer_of(Element place) {
  std::optional<uint64_t> found;
  const auto* const at = reinterpret_cast<const std::byte*>(place.address);
  memory_.restore();
  const std::vector<std::byte> before(at, at + place.bytes);
  for (uint64_t number = 0; number < launch_.clusters() && !found; ++number) {
    memory_.restore();
    run_whole(number);
    if (!std::equal(before.begin(), before.end(), at)) found = number;
  }
  memory_.restore();
  return found;
}

// --- forward ---

/// The two runs of a cluster, side by side.
struct Provenance::Following {
  Following(const Provenance& of, Element element, uint64_t number)
      : element(element), base(of, number), twin(of, number), program(base.launch->program), images(of.memory_.parts) {
    found.cluster = number;
    for (const auto& each : program.registers) by_offset.emplace(each.offset, &each);
    marked.resize(base.cluster.blocks().size());
    for (auto& block : marked) block.warps.resize(base.launch->warps());
    swap();
    change(element);
    swap();
  }

  /// Global memory becomes the twin's, or the first run's again.
  void swap() {
    for (MemoryImage::Part& image : images)
      exchange(reinterpret_cast<std::byte*>(image.address), image.bytes.data(), image.bytes.size());
  }
  bool differs_in_global(uint64_t address, uint32_t bytes) const {
    for (const MemoryImage::Part& image : images) {
      if (address < image.address || address + bytes > image.address + image.bytes.size()) continue;
      return std::memcmp(reinterpret_cast<const void*>(address), image.bytes.data() + (address - image.address),
                         bytes) != 0;
    }
    return false;
  }

  void run();
  bool step(uint32_t rank, uint32_t number);
  bool settle();

  /// Lanes of a register that differ, by why.
  struct Register {
    uint32_t copies = 0, sums = 0;
  };
  using OfWarp = std::map<uint32_t, Register>;  ///< by offset
  struct OfBlock {
    std::vector<OfWarp> warps;
    std::map<uint32_t, bool> shared;  ///< bytes that differ: whether they are sums
  };
  /// A copy that has been asked for, and will write the element.
  struct Pending {
    Mark mark;
    uint32_t shared, bytes;
    uint32_t owners;  ///< ranks, a bit each
  };
  struct Inputs {
    bool copies = false, sums = false;  ///< some register that the instruction reads holds one
  };

  Inputs inputs_of(const OfWarp& registers, uint32_t site) const;
  uint32_t different_lanes(uint32_t rank, uint32_t warp, const Program::NamedRegister& which, uint32_t& first_byte);
  void look_at_register(uint32_t offset, const Mark& by, const Inputs& inputs, bool arithmetic);
  void look_at_registers(Mark by, const Inputs& inputs, const TracedRequest* request);
  void look_at_shared(const Mark& by, const Inputs& inputs, const TracedRequest* request);
  void look_at_stores(Mark by, const Inputs& inputs, const TracedRequest& request);
  void look_at_copies(Mark by, const TracedRequest& request);
  void look_at_product(Mark by, const Trace& trace, const TracedInstruction& traced);
  void look_at_operand(Mark by, char name, const TracedOperand& operand);
  void add(Mark mark) {
    if (found.marks.size() < most_marks)
      found.marks.push_back(std::move(mark));
    else
      found.cut = true;
  }

  const Element element;
  Twin base, twin;
  const Program& program;
  std::vector<MemoryImage::Part> images;  ///< what the other run has in global memory
  std::map<uint32_t, const Program::NamedRegister*> by_offset;
  std::vector<OfBlock> marked;  ///< by rank
  std::vector<Pending> pending;
  Followed found;
};

Provenance::Followed Provenance::follow(Element element, uint64_t cluster) {
  memory_.restore();
  Following both(*this, element, cluster);
  both.run();
  memory_.restore();
  return std::move(both.found);
}

void Provenance::Following::run() {
  for (bool over = false; !over && !found.diverged;) {
    bool ran = false;
    for (uint32_t rank = 0; rank < marked.size() && !found.diverged; ++rank) {
      for (uint32_t i = 0; i < base.launch->warps() && !found.diverged; ++i) ran |= step(rank, i);
    }
    if (!ran) over = settle();
    if (found.steps >= most_retraced) over = found.cut = true;
  }
  Joined feeds(element);
  for (const MemoryImage::Part& image : images) {
    for_different(reinterpret_cast<const std::byte*>(image.address), image.bytes.data(), image.bytes.size(),
                  [&](size_t i) { feeds.add(image.address + i); });
  }
  found.feeds = feeds.all();
}

bool Provenance::Following::step(uint32_t rank, uint32_t number) {
  Warp& warp = base.warp(rank, number);
  Warp& other = twin.warp(rank, number);
  if (warp.state != Warp::State::running) return false;
  const uint32_t site = warp.pc;
  const Site& what = program.sites[site];
  const bool global = may_touch_global(what);
  const bool told = global || what.counted_as == Class::load_shared || what.counted_as == Class::store_shared ||
                    what.counted_as == Class::tensor;
  const Inputs inputs = inputs_of(marked[rank].warps[number], site);

  std::optional<Trace> trace;
  if (told) warp.trace = &trace.emplace(number, 8);
  base.cluster.step(rank, number, 1);
  warp.trace = nullptr;
  if (global) swap();
  twin.cluster.step(rank, number, 1);
  if (global) swap();
  Mark by;
  by.step = found.steps++, by.rank = rank, by.warp = number, by.site = site;
  if (warp.pc != other.pc || warp.state != other.state || warp.active != other.active) found.diverged = true;

  const TracedInstruction* traced = nullptr;
  if (trace) {
    const auto at = trace->instructions().find(site);
    if (at != trace->instructions().end()) traced = &at->second;
  }
  const TracedRequest* const request = traced && !traced->requests.empty() ? &traced->requests.back() : nullptr;
  if (traced) look_at_product(by, *trace, *traced);
  if (request) look_at_copies(by, *request);
  look_at_registers(by, inputs, request);
  if (may_write_shared(what)) look_at_shared(by, inputs, request);
  if (request && request->global && request->stores_global) look_at_stores(by, inputs, *request);
  return true;
}

/// What is under way lands; true where nothing is left to do.
bool Provenance::Following::settle() {
  const auto now = base.cluster.settle();
  swap();
  twin.cluster.settle();
  swap();
  Mark by;
  by.step = found.steps++, by.warp = by.site = Event::nobody;
  look_at_shared(by, {}, nullptr);
  return now == Cluster::Progress::done;
}

Provenance::Following::Inputs Provenance::Following::inputs_of(const OfWarp& registers, uint32_t site) const {
  Inputs made;
  if (registers.empty()) return made;
  for (uint32_t i = program.first_use[site]; i < program.first_use[site + 1]; ++i) {
    if (program.register_uses[i].writes) continue;
    const auto at = registers.find(program.register_uses[i].offset);
    if (at == registers.end()) continue;
    made.copies |= at->second.copies != 0;
    made.sums |= at->second.sums != 0;
  }
  return made;
}

uint32_t Provenance::Following::different_lanes(uint32_t rank, uint32_t warp, const Program::NamedRegister& which,
                                                uint32_t& first_byte) {
  const std::byte* const a = base.warp(rank, warp).registers + which.offset;
  const std::byte* const b = twin.warp(rank, warp).registers + which.offset;
  if (which.width == ptx::Width::predicate) {
    uint32_t here, there;
    std::memcpy(&here, a, sizeof here);
    std::memcpy(&there, b, sizeof there);
    return here ^ there;
  }
  const uint32_t bytes = bytes_of(which.width);
  if (std::memcmp(a, b, size_t{bytes} * warp_size) == 0) return 0;
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if (std::memcmp(a + lane * bytes, b + lane * bytes, bytes) == 0) continue;
    if (lanes == 0)
      first_byte = static_cast<uint32_t>(
          std::mismatch(a + lane * bytes, a + (lane + 1) * bytes, b + lane * bytes).first - (a + lane * bytes));
    lanes |= 1u << lane;
  }
  return lanes;
}

void Provenance::Following::look_at_register(uint32_t offset, const Mark& by, const Inputs& inputs, bool arithmetic) {
  const auto named = by_offset.find(offset);
  if (named == by_offset.end()) return;
  OfWarp& registers = marked[by.rank].warps[by.warp];
  uint32_t first_byte = 0;
  const uint32_t lanes = different_lanes(by.rank, by.warp, *named->second, first_byte);
  if (lanes == 0) {
    // While a wgmma is under way its sums hold poison in both runs; they come back at the wait.
    if (!program.sites[by.site].text.starts_with("wgmma.")) registers.erase(offset);
    return;
  }
  Register& known = registers[offset];
  const uint32_t fresh = lanes & ~(known.copies | known.sums);
  const bool sum = arithmetic || inputs.sums;
  known.copies &= lanes, known.sums &= lanes;
  if (fresh == 0) return;
  (sum ? known.sums : known.copies) |= fresh;
  if (sum && !inputs.copies) return;  // sums of sums go on to the end
  Mark mark = by;
  mark.kind = Mark::Kind::registers;
  mark.lanes = fresh;
  mark.sum = sum;
  mark.name = named->second->name;
  mark.bits = 8 * static_cast<uint32_t>(named->second->width);
  mark.first_byte = first_byte;
  add(std::move(mark));
}

void Provenance::Following::look_at_registers(Mark by, const Inputs& inputs, const TracedRequest* request) {
  const Site& what = program.sites[by.site];
  if (what.text.starts_with("wgmma.")) {  // sums arrive at the wait
    Inputs of = inputs;
    of.copies = true;
    for (const auto& each : program.registers) look_at_register(each.offset, by, of, true);
    return;
  }
  Inputs of = inputs;
  const auto covered = [&](const Lanes& lanes, uint64_t from, uint64_t to) {
    bool found_one = false;
    for_lanes(lanes.mask, [&](uint32_t lane) {
      found_one |= lanes.address[lane] < to && from < lanes.address[lane] + lanes.bytes;
    });
    return found_one;
  };
  if (request && request->shared && !request->stores_shared && !request->global) {
    for (const auto& [address, sum] : marked[by.rank].shared) {
      if (!covered(*request->shared, address, address + 1)) continue;
      if (!by.access) by.address = address;
      by.access = Mark::Access{*request->shared, true, false};
      of.sums |= sum;
    }
  }
  if (request && request->global && !request->stores_global && !request->shared &&
      covered(*request->global, element.address, element.address + element.bytes)) {
    by.access = Mark::Access{*request->global, false, false};
    by.address = element.address;
  }
  for (uint32_t i = program.first_use[by.site]; i < program.first_use[by.site + 1]; ++i) {
    if (program.register_uses[i].writes)
      look_at_register(program.register_uses[i].offset, by, of, is_arithmetic(what.counted_as));
  }
}

void Provenance::Following::look_at_shared(const Mark& by, const Inputs& inputs, const TracedRequest* request) {
  const bool by_lanes = request && request->shared && request->stores_shared && !request->global;
  for (uint32_t rank = 0; rank < marked.size(); ++rank) {
    const std::vector<std::byte>& here = base.cluster.blocks()[rank]->shared;
    const std::vector<std::byte>& there = twin.cluster.blocks()[rank]->shared;
    std::map<uint32_t, bool>& known = marked[rank].shared;
    std::erase_if(known, [&](const auto& each) { return here[each.first] == there[each.first]; });
    std::vector<uint32_t> fresh;
    const auto note = [&](size_t at) {
      if (!known.contains(static_cast<uint32_t>(at))) fresh.push_back(static_cast<uint32_t>(at));
    };
    if (by_lanes && rank == by.rank) {
      for_lanes(request->shared->mask, [&](uint32_t lane) {
        const uint64_t at = request->shared->address[lane];
        for_different(here.data() + at, there.data() + at, request->shared->bytes, [&](size_t i) { note(at + i); });
      });
      std::sort(fresh.begin(), fresh.end());
      fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    } else if (!by_lanes) {
      for_different(here.data(), there.data(), here.size(), note);
    }
    for (size_t i = 0; i < fresh.size();) {
      size_t end = i + 1;
      while (end < fresh.size() && fresh[end] == fresh[end - 1] + 1 && end - i < element.bytes) ++end;
      Mark mark = by;
      const auto is_it = [&](const Pending& each) {
        return each.owners >> rank & 1 && fresh[i] >= each.shared && fresh[i] < each.shared + each.bytes;
      };
      if (!by_lanes) {
        const auto copy = std::find_if(pending.rbegin(), pending.rend(), is_it);
        if (copy != pending.rend()) {
          mark = copy->mark;
          mark.issued_step = mark.step;
          mark.step = by.step;
        }
      } else {
        mark.access = Mark::Access{*request->shared, true, true};
        for_lanes(request->shared->mask, [&](uint32_t lane) {
          const uint64_t at = request->shared->address[lane];
          if (at <= fresh[i] && fresh[i] < at + request->shared->bytes) mark.lanes |= 1u << lane;
        });
      }
      mark.kind = Mark::Kind::shared;
      mark.sum = inputs.sums;
      mark.owner = rank;
      mark.address = fresh[i];
      mark.bytes = static_cast<uint32_t>(end - i);
      for (size_t at = i; at < end; ++at) known[fresh[at]] = mark.sum;
      add(std::move(mark));
      i = end;
    }
  }
}

void Provenance::Following::look_at_stores(Mark by, const Inputs& inputs, const TracedRequest& request) {
  if (!inputs.copies && !inputs.sums) return;
  const Lanes& lanes = *request.global;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    if (!differs_in_global(lanes.address[lane], lanes.bytes)) return;
    if (by.lanes == 0) by.address = lanes.address[lane];
    by.lanes |= 1u << lane;
  });
  if (by.lanes == 0) return;
  by.kind = Mark::Kind::global;
  by.sum = inputs.sums;
  by.bytes = lanes.bytes;
  by.access = Mark::Access{lanes, false, true};
  add(std::move(by));
}

/// Copies that will bring the element to shared memory.
void Provenance::Following::look_at_copies(Mark by, const TracedRequest& request) {
  if (request.copy && !request.copy->stores && request.copy->shared) {
    by.copy = request.copy;
    by.lanes = 1u << request.copy->lane;
    uint32_t owners = 0;
    for (const uint32_t block : request.copy->blocks) owners |= 1u << block;
    pending.push_back({by, *request.copy->shared, request.copy->shared_bytes, owners});
  }
  if (!request.global || !request.shared || !request.stores_shared) return;
  for_lanes(request.global->mask & request.shared->mask, [&](uint32_t lane) {
    const uint64_t from = request.global->address[lane];
    if (element.address < from || element.address >= from + request.shared->bytes) return;
    Mark mark = by;
    mark.lanes = 1u << lane;
    mark.access = Mark::Access{*request.shared, true, true};
    const auto shared = static_cast<uint32_t>(request.shared->address[lane] + (element.address - from));
    pending.push_back({mark, shared, element.bytes, 1u << by.rank});
  });
}

/// Which place of an operand the element has in the matrices that a product is about to use.
void Provenance::Following::look_at_product(Mark by, const Trace& trace, const TracedInstruction& traced) {
  by.kind = Mark::Kind::operand;
  for (const TracedRequest& request : traced.requests) {
    for (const auto& [name, operand] : request.operands) look_at_operand(by, name == "a" ? 'A' : 'B', operand);
  }
  const OfWarp& registers = marked[by.rank].warps[by.warp];
  if (registers.empty() || !program.sites[by.site].text.starts_with("mma.")) return;
  // The registers that it reads: A's, B's, then C's.
  std::vector<uint32_t> reads;
  for (uint32_t i = program.first_use[by.site]; i < program.first_use[by.site + 1]; ++i)
    if (!program.register_uses[i].writes) reads.push_back(program.register_uses[i].offset);
  size_t first = 0;
  for (const char* const name : {"a", "b"}) {
    const auto held = traced.fragments.find(name);
    if (held == traced.fragments.end()) return;
    const TracedFragment& fragment = trace.fragments().at(held->second);
    const uint32_t per_register = 32 / std::min(32u, fragment.element_bits);
    const size_t count = fragment.elements[0].size() / per_register;
    for (size_t i = 0; i < count && first + i < reads.size(); ++i) {
      const auto known = registers.find(reads[first + i]);
      const auto which = by_offset.find(reads[first + i]);
      if (known == registers.end() || which == by_offset.end() || known->second.copies == 0) continue;
      for_lanes(known->second.copies, [&](uint32_t lane) {
        const std::byte* const a = base.warp(by.rank, by.warp).registers + reads[first + i] + 4 * lane;
        const std::byte* const b = twin.warp(by.rank, by.warp).registers + reads[first + i] + 4 * lane;
        const auto at = static_cast<uint32_t>(std::mismatch(a, a + 4, b).first - a);
        if (at == 4) return;
        const size_t element_of_lane = i * per_register + at * 8 / fragment.element_bits;
        Mark mark = by;
        mark.of = *name == 'a' ? 'A' : 'B';
        mark.name = which->second->name;
        mark.bits = 32;
        mark.first_byte = at;
        mark.lanes = 1u << lane;
        std::tie(mark.row, mark.col) = fragment.elements[lane][element_of_lane];
        add(std::move(mark));
      });
    }
    first += count;
  }
}

/// wgmma: the 16 bytes of the operand in shared memory that hold the element.
void Provenance::Following::look_at_operand(Mark by, char name, const TracedOperand& operand) {
  const MatrixDescriptor at(operand.descriptor);
  const uint32_t per_chunk = 16 / std::min(16u, element.bytes), k = 32 / std::min(32u, element.bytes);
  const uint32_t first = operand.k_major ? operand.first_line : 0;
  const uint32_t lines = operand.k_major ? operand.lines : k;
  const uint32_t first_chunk = operand.k_major ? 0 : operand.first_line / per_chunk;
  const uint32_t chunks = operand.k_major ? k / per_chunk : operand.lines / per_chunk;
  for (const auto& [address, sum] : marked[by.rank].shared) {
    const auto in_span = [address = address](const auto& span) {
      return address >= span.first && address < span.first + span.second;
    };
    if (sum || address % element.bytes != 0 || std::none_of(operand.spans.begin(), operand.spans.end(), in_span))
      continue;
    for (uint32_t line = first; line < first + lines; ++line) {
      for (uint32_t chunk = first_chunk; chunk < first_chunk + chunks; ++chunk) {
        if (at.address(operand.k_major, line, chunk) != address / 16 * 16) continue;
        const uint32_t along = chunk * per_chunk + address % 16 / element.bytes;
        Mark mark = by;
        mark.of = name;
        mark.operand = operand;
        mark.owner = by.rank;
        mark.address = address;
        mark.bytes = element.bytes;
        const bool line_is_row = operand.k_major == (name == 'A');
        mark.row = line_is_row ? line : along;
        mark.col = line_is_row ? along : line;
        add(std::move(mark));
      }
    }
  }
}

// --- backward ---

Provenance::Origins Provenance::origins(const std::vector<Array>& arrays, uint64_t cluster, uint64_t steps) {
  Origins made;
  made.arrays_ = arrays;
  const auto run_of = [&](const std::function<void()>& prepare) {
    memory_.restore();
    prepare();
    auto one = std::make_unique<Twin>(*this, cluster);
    one->run(steps);
    return one;
  };
  const auto base = run_of([] {});
  std::vector<MemoryImage::Part> as_usual;
  for (const MemoryImage::Part& image : memory_.parts) {
    const auto* const begin = reinterpret_cast<const std::byte*>(image.address);
    as_usual.push_back({image.address, {begin, begin + image.bytes.size()}});
  }
  made.warps_ = base->launch->warps();
  for (const MemoryImage::Part& image : memory_.parts) made.memory_.emplace_back(image.address, image.bytes.size());
  const auto note = [&](auto changes) {  // changes(array, row, col): whether this run has another value there
    const auto twin = run_of([&] {
      for (const Array& array : arrays)
        for (uint32_t row = 0; row < array.rows; ++row)
          for (uint32_t col = 0; col < array.cols; ++col)
            if (changes(array, row, col)) change({array.at(row, col), array.element_bytes});
    });
    Origins::Run& run = made.runs_.emplace_back();
    const auto compare = [](const std::byte* a, const std::byte* b, size_t bytes, size_t unit) {
      std::vector<bool> different(bytes / unit);
      for_different(a, b, bytes, [&](size_t at) { different[at / unit] = true; });
      return different;
    };
    if (steps == at_the_end) {
      for (const MemoryImage::Part& image : as_usual) {
        const auto* const now = reinterpret_cast<const std::byte*>(image.address);
        run.global.push_back(compare(now, image.bytes.data(), image.bytes.size(), 1));
      }
      return;
    }
    for (uint32_t rank = 0; rank < base->cluster.blocks().size(); ++rank) {
      Block& here = *base->cluster.blocks()[rank];
      Block& there = *twin->cluster.blocks()[rank];
      run.shared.push_back(compare(here.shared.data(), there.shared.data(), here.shared.size(), 1));
      for (uint32_t i = 0; i < made.warps_; ++i) {
        run.registers.push_back(
            compare(here.warps()[i].registers, there.warps()[i].registers, launch_.program.register_bytes / 4 * 4, 4));
      }
    }
  };
  for (const Array& array : arrays) {
    const auto of_this = [&](auto test) {
      note([&array, test](const Array& each, uint32_t row, uint32_t col) { return &each == &array && test(row, col); });
    };
    of_this([](uint32_t, uint32_t) { return true; });
    for (uint32_t bit = 1; bit < array.rows; bit *= 2) {
      of_this([bit](uint32_t row, uint32_t) { return (row & bit) != 0; });
      of_this([bit](uint32_t row, uint32_t) { return (row & bit) == 0; });
    }
    for (uint32_t bit = 1; bit < array.cols; bit *= 2) {
      of_this([bit](uint32_t, uint32_t col) { return (col & bit) != 0; });
      of_this([bit](uint32_t, uint32_t col) { return (col & bit) == 0; });
    }
  }
  memory_.restore();
  return made;
}

std::vector<Provenance::Source> Provenance::Origins::decoded(const std::vector<Bytes> Run::* memory, size_t number,
                                                             uint64_t first, uint64_t end) const {
  std::vector<Source> sources;
  auto run = runs_.begin();
  const auto next_differs = [&] {
    const std::vector<Bytes>& all = (*run++).*memory;
    for (uint64_t at = first; number < all.size() && at < std::min<uint64_t>(end, all[number].size()); ++at)
      if (all[number][at]) return true;
    return false;
  };
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const bool any = next_differs();
    const auto numbers = [&](uint32_t count) {
      std::vector<uint32_t> all(count);
      for (uint32_t each = 0; each < count; ++each) all[each] = each;
      for (uint32_t bit = 1; bit < count; bit *= 2) {
        const bool set = next_differs(), clear = next_differs();
        std::erase_if(all, [&](uint32_t each) { return each & bit ? !set : !clear; });
      }
      return all;
    };
    Source source{i, numbers(arrays_[i].rows), {}};
    source.cols = numbers(arrays_[i].cols);
    if (any) sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<Provenance::Source> Provenance::Origins::of_shared(uint32_t rank, uint32_t address, uint32_t bytes) const {
  return decoded(&Run::shared, rank, address, uint64_t{address} + bytes);
}

std::vector<Provenance::Source> Provenance::Origins::of_register(uint32_t rank, uint32_t warp, uint32_t offset,
                                                                 uint32_t first, uint32_t bytes) const {
  const uint64_t begin = uint64_t{offset} + first;
  return decoded(&Run::registers, size_t{rank} * warps_ + warp, begin / 4, (begin + bytes + 3) / 4);
}

std::vector<Provenance::Source> Provenance::Origins::of_global(uint64_t address, uint32_t bytes) const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const auto [begin, size] = memory_[i];
    if (address >= begin && address < begin + size)
      return decoded(&Run::global, i, address - begin, address - begin + bytes);
  }
  return {};
}

}  // namespace sim
