/// How a Builder reads operands: registers, constants, special registers, lists and addresses.
#include "core/warp/address.h"
#include "core/warp/decode.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Width;

const std::unordered_map<std::string, Special> special_names = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
};

}  // namespace

Width Builder::width_of(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) refuse("a register is needed here");
  return reg(operand).width;
}

uint32_t Builder::destination(const Operand& operand, Width width) {
  if (operand.kind == Operand::Kind::sink)
    return allot(width == Width::predicate ? 4 : static_cast<uint32_t>(width) * warp_size);
  if (operand.kind != Operand::Kind::reg || operand.negated || reg(operand).width != width)
    refuse("a destination of the wrong kind");
  return used(operand, true);
}

uint32_t Builder::used(const Operand& operand, bool writes) {
  const uint32_t slot = slots_[operand.index];
  program_.register_uses.push_back({slot, writes});
  return slot;
}

void Builder::watches_its_own_registers() {
  program_.register_uses.resize(program_.first_use.back());
  program_.watches_registers = true;
}

uint32_t Builder::source(const Operand& operand, Width width) {
  if (operand.negated) refuse("a negated predicate is not modelled here");
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (reg(operand).width != width) refuse("register " + reg(operand).name + " has the wrong width");
      return used(operand, false);
    case Operand::Kind::special: return special(operand.text, width);
    case Operand::Kind::variable: {
      if (width != Width::b32 && width != Width::b64) refuse("an address has 32 or 64 bits");
      const bool parameter = operand.index < kernel_.parameter_count;
      if (kernel_.variables[operand.index].space == Space::shared)
        return shared_constant(width, variable_address(operand.index));
      return constant(width, variable_address(operand.index) + (parameter ? param_window : 0));
    }
    case Operand::Kind::integer: return constant(width, operand.value);
    case Operand::Kind::float32:
      if (width != Width::b32)
        refuse("a constant of 32 bits where there should be " + std::to_string(8 * static_cast<int>(width)));
      return constant(width, operand.value);
    case Operand::Kind::float64:
      if (width != Width::b64)
        refuse("a constant of 64 bits where there should be " + std::to_string(8 * static_cast<int>(width)));
      return constant(width, operand.value);
    case Operand::Kind::name:
      refuse("the address of function '" + operand.text +
             "' is not modelled (function pointers, launches by a kernel)");
    default: refuse("a register or a constant is needed here");
  }
}

uint32_t Builder::registers(const Operand& list, uint32_t count, bool are_destinations, Width width) {
  if (list.kind != Operand::Kind::vector || list.parts.size() != count)
    refuse("a list of " + std::to_string(count) + " registers is needed");
  std::vector<uint32_t>& lists = program_.operand_lists;
  const auto first = static_cast<uint32_t>(lists.size());
  for (const Operand& part : list.parts)
    lists.push_back(are_destinations ? destination(part, width) : source(part, width));
  return first;
}

uint32_t Builder::constant(Width width, uint64_t value) {
  const auto bytes = static_cast<uint8_t>(width);
  if (width == Width::predicate)
    value = value ? all_lanes : 0;
  else if (bytes < 8)
    value &= (uint64_t{1} << 8 * bytes) - 1;
  const auto [entry, made] = constants_[bytes].try_emplace(value, 0u);
  if (made) {
    entry->second = allot(width == Width::predicate ? 4 : bytes * warp_size);
    program_.constants.push_back({entry->second, bytes, value});
  }
  return entry->second;
}

uint32_t Builder::shared_constant(Width width, uint64_t offset) {
  const auto bytes = static_cast<uint8_t>(width);
  const auto [entry, made] = shared_constants_[bytes].try_emplace(offset, 0u);
  if (made) {
    entry->second = allot(bytes * warp_size);
    program_.constants.push_back({entry->second, bytes, offset, true});
  }
  return entry->second;
}

uint32_t Builder::special(const std::string& name, Width width) {
  if (name.starts_with("%clock") || name.starts_with("%globaltimer")) refuse("a clock is read by mov alone");
  const auto known = special_names.find(name);
  if (known == special_names.end()) refuse("special register or name '" + name + "' is not modelled");
  if (width != (name == "%is_explicit_cluster" ? Width::predicate : Width::b32))
    refuse(name + (width == Width::predicate ? " is no predicate" : " has another width"));
  const auto [entry, made] = specials_.try_emplace(name, 0u);
  if (made) {
    entry->second = allot(4 * warp_size);
    program_.specials.push_back({entry->second, known->second});
  }
  return entry->second;
}

uint32_t Builder::carry() {
  if (!carry_) carry_ = allot(sizeof(uint32_t));
  return *carry_;
}

uint64_t Builder::immediate(const Operand& operand) const {
  if (operand.kind != Operand::Kind::integer) refuse("a constant is needed here");
  return operand.value;
}

Builder::Address Builder::address(const Operand& operand) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() > 1) refuse("an address is needed here");
  Address address{0, true, static_cast<int64_t>(operand.value), nullptr, 0};
  if (operand.parts.empty()) {
    address.base = constant(Width::b64, 0);
    return address;
  }
  const Operand& base = operand.parts[0];
  if (base.kind == Operand::Kind::reg) {
    if (reg(base).width != Width::b32 && reg(base).width != Width::b64) refuse("an address has 32 or 64 bits");
    address.wide = reg(base).width == Width::b64;
    address.base = used(base, false);
  } else if (base.kind == Operand::Kind::variable) {
    address.variable = &kernel_.variables[base.index];
    address.base = address.variable->space == Space::shared ? shared_constant(Width::b64, 0) : constant(Width::b64, 0);
    address.offset += static_cast<int64_t>(variable_address(base.index));
    address.variable_index = base.index;
  } else {
    refuse("an address of an unknown name");
  }
  return address;
}

}  // namespace sim
