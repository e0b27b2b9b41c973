/// What is checked of wgmma: that the warps of a group agree, that nobody touches what a product in flight uses, that
/// its operands are where they should be.
#include <algorithm>

#include "core/machine/access.h"
#include "core/wgmma/wgmma.h"

namespace sim {

// --- what the warps of a group have to have in common ---

bool Products::agrees(Warp& warp, const Step& step) {
  const uint32_t number = warp.index / warps_of_group;
  if (block_.launch.threads() < (number + 1) * warps_of_group * warp_size) {
    block_.give_up(warp, Finding::divergent_barrier, [&] {
      return block_.what_it_does(warp, 0) + ": wgmma needs a warpgroup, four whole warps; the block has " +
             std::to_string(block_.launch.threads()) + " threads";
    });
    return false;
  }
  Group& group = groups_[number];
  const uint64_t index = of(warp).instructions++;
  if (index == group.first + group.steps.size()) {
    group.steps.push_back(step);
  } else if (const Step& before = group.steps[index - group.first]; before != step) {
    const char* const differs = before.site != step.site ? ""
                                : before.a != step.a     ? " with another descriptor of A"
                                : before.b != step.b     ? " with another descriptor of B"
                                                         : " with another scale-d";
    block_.give_up(
        warp, Finding::divergent_barrier,
        [&] {
          return block_.what_it_does(warp, 0) +
                 ": the four warps of a warpgroup have to execute the same wgmma "
                 "instructions; another of them has executed the one at " +
                 block_.where(before.site) + differs;
        },
        before.site);
    return false;
  }
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 0; i < warps_of_group; ++i)
    least = std::min(least, of_warp_[number * warps_of_group + i].instructions);
  for (; group.first < least; ++group.first) group.steps.pop_front();
  return true;
}

void Products::end() {
  for (uint32_t number = 0; number < groups_.size(); ++number) {
    const Group& group = groups_[number];
    if (group.steps.empty()) continue;
    for (uint32_t i = number * warps_of_group; i < std::min<size_t>(of_warp_.size(), (number + 1) * warps_of_group);
         ++i) {
      if (of_warp_[i].instructions >= group.first + group.steps.size()) continue;
      const uint32_t site = group.steps[of_warp_[i].instructions - group.first].site;
      block_.report(Finding::divergent_barrier, site, nowhere, [&] {
        return block_.program.sites[site].text + " at " + block_.where(site) +
               " is executed by part of a warpgroup only: warp " + std::to_string(i) + " of block " + block_.name() +
               " has ended without it";
      });
      break;
    }
  }
}

// --- registers ---

void Products::watch(Warp& warp) {
  RegisterWatch& registers = of(warp).registers;
  const Program& program = block_.program;
  const uint32_t here = warp.here();
  const auto object = [&](uint32_t offset, bool writes) {
    const auto is_it = [&](uint32_t each) { return each == offset; };
    uint32_t site = nowhere;
    for (const Product& each : of(warp).under_way) {
      const uint32_t* const d = list(each.wgmma.d);
      const uint32_t* const a = list(each.wgmma.a);
      if (std::any_of(d, d + each.wgmma.sum_registers(), is_it) ||
          (each.wgmma.a_in_registers && std::any_of(a, a + 4, is_it)))
        site = each.site;
    }
    const bool sum = registers.use(offset) == RegisterWatch::Use::sum;
    block_.report(Finding::unwaited_product, here, site, [&] {
      return block_.what_it_does(warp, first_lane(warp.exec)) + (writes ? ": writes" : ": reads") + " a register of " +
             (sum ? "the sums" : "A") + " of the wgmma" + (site == nowhere ? "" : " at " + block_.where(site)) +
             ", which is under way: no wgmma.wait_group has covered it";
    });
  };
  const auto* const uses = program.register_uses.data();
  for (uint32_t i = program.first_use[here], last = program.first_use[here + 1]; i < last; ++i) {
    const auto [offset, writes] = uses[i];
    if (registers.objects(offset, writes)) [[unlikely]]
      object(offset, writes);
    if (writes) registers.mark_written(offset);
  }
}

/// Registers written by other instructions need a wgmma.fence before a product may use them.
void Products::check_registers(Warp& warp, const Wgmma& wgmma) {
  OfWarp& own = of(warp);
  bool unfenced = !own.registers.has_fenced();
  const uint32_t* const d = list(wgmma.d);
  const uint32_t* const a = list(wgmma.a);
  for (uint32_t i = 0; i < wgmma.sum_registers(); ++i) unfenced |= own.registers.written_since_fence(d[i]);
  for (uint32_t i = 0; wgmma.a_in_registers && i < 4; ++i) {
    unfenced |= own.registers.written_since_fence(a[i]);
    if (own.registers.use(a[i]) != RegisterWatch::Use::sum) continue;
    block_.report(Finding::unwaited_product, warp.here(), nowhere, [&] {
      return block_.what_it_does(warp, 0) + ": reads A from registers that hold sums of a wgmma under way";
    });
  }
  if (!unfenced) return;
  block_.report(Finding::wgmma_fence, warp.here(), nowhere, [&] {
    return block_.what_it_does(warp, 0) + ": " +
           (own.registers.has_fenced()
                ? "its registers were written by other instructions after the warp's last wgmma.fence"
                : "no wgmma.fence orders it after what its warp did before");
  });
}

// --- operands in shared memory ---

const Products::Layout& Products::layout_of(const Operand& operand) {
  const MatrixDescriptor& at = operand.at;
  const auto [entry, made] = layouts_.try_emplace({at.start, at.leading, at.stride, at.base_offset << 16 | at.swizzle,
                                                   operand.first_line << 1 | u32{operand.k_major}, operand.lines,
                                                   operand.first_chunk, operand.chunks});
  Layout& layout = entry->second;
  if (!made) return layout;
  std::vector<uint32_t>& addresses = layout.addresses;
  addresses.reserve(size_t{operand.lines} * operand.chunks);
  for (uint32_t line = operand.first_line; line < operand.first_line + operand.lines; ++line) {
    for (uint32_t chunk = operand.first_chunk; chunk < operand.first_chunk + operand.chunks; ++chunk)
      addresses.push_back(at.address(operand.k_major, line, chunk));
  }
  std::vector<uint32_t> sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  constexpr uint32_t gap = 256;
  for (const uint32_t address : sorted) {
    const auto add = [&](std::vector<Span>& spans, uint32_t most) {
      if (!spans.empty() && address <= spans.back().end() + most)
        spans.back().bytes = std::max(spans.back().end(), address + 16) - spans.back().begin;
      else
        spans.push_back({address, 16});
    };
    add(layout.exact, 0);
    add(layout.joined, gap);
  }
  layout.all = {sorted.front(), sorted.back() + 16 - sorted.front()};
  return layout;
}

/// Checks that an operand lies in shared memory, and was written for this. Adds what it spans. Null where it is not
/// there.
const Products::Layout* Products::read_operand(Warp& warp, const Operand& operand, std::vector<Span>& spans) {
  const Layout& layout = layout_of(operand);
  const auto for_chunks = [&](auto body) {
    for (uint32_t line = operand.first_line; line < operand.first_line + operand.lines; ++line) {
      for (uint32_t chunk = operand.first_chunk; chunk < operand.first_chunk + operand.chunks; ++chunk)
        body(line, chunk, operand.at.address(operand.k_major, line, chunk));
    }
  };
  if (!block_.holds(layout.all)) {
    uint32_t first = ~0u;
    for_chunks([&](uint32_t, uint32_t, uint32_t address) {
      if (first == ~0u && !block_.holds({address, 16})) first = address;
    });
    block_.give_up(warp, Finding::out_of_bounds, [&] {
      return block_.what_it_does(warp, 0) + ": its descriptor of " + operand.name + " leads to " + block_.place(first) +
             "; the block has " + std::to_string(block_.shared.size()) + " bytes";
    });
    return nullptr;
  }
  if (!block_.launch.options.watch) return &layout;
  spans.insert(spans.end(), layout.joined.begin(), layout.joined.end());
  if (block_.shadow.is_landed(warp.agent, layout.all, operand.at.swizzle)) return &layout;
  for_chunks(
      [&](uint32_t line, uint32_t chunk, uint32_t address) { check_swizzle(warp, operand, line, chunk, address); });
  for (const Span& exact : layout.exact) {
    block_.shadow.check_async_read(warp.agent, 0, exact,
                                   [&](const Objection& objection) { report_objection(warp, block_, objection); });
  }
  return &layout;
}

/// What TMA wrote with another swizzle than the descriptor's is read in a wrong order.
void Products::check_swizzle(Warp& warp, const Operand& operand, uint32_t line, uint32_t chunk, uint32_t address) {
  const uint32_t written = block_.shadow.swizzle_at(address);
  if (written == Shadow::unknown_swizzle || written == operand.at.swizzle) return;
  block_.report(Finding::swizzle, warp.here(), block_.shadow.writer_site(address), [&] {
    const char* const lines = operand.k_major ? (operand.name == 'A' ? "rows " : "columns ") : "k ";
    return block_.what_it_does(warp, 0) + ": its descriptor of " + operand.name + " says " +
           swizzle_name(operand.at.swizzle) + ", but the copy started at " +
           block_.where(block_.shadow.writer_site(address)) + " wrote the tile with " + swizzle_name(written) +
           "; the first core matrix that is read in a wrong order is that of " + lines + std::to_string(line / 8 * 8) +
           " to " + std::to_string(line / 8 * 8 + 7) + ", 16 bytes number " + std::to_string(chunk) + ", at " +
           block_.place(address);
  });
}

}  // namespace sim
