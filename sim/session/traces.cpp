#include "session/traces.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/readable.h"
#include "session/numbered.h"
#include "session/simulator.h"
#include "session/variables.h"

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

/// One value for each lane, null for lanes that take no part.
template <class Value>
Json by_lane(const Lanes& lanes, Value value) {
  Json all = Json::array();
  for (uint32_t lane = 0; lane < warp_size; ++lane)
    all.push_back(lanes.mask >> lane & 1 ? Json(value(lanes.address[lane])) : Json());
  return all;
}

Json global_json(const Lanes& lanes, Numbered& allocations) {
  const auto [number, begin] = allocations.of(lanes.address[first_lane(lanes.mask)]);
  const auto relative = [begin = begin](uint64_t address) { return static_cast<int64_t>(address - begin); };
  return {{"allocation", number},
          {"bytes", lanes.bytes},
          {"address", by_lane(lanes, relative)},
          {"sector", by_lane(lanes, [&](uint64_t address) { return relative(address) / 32; })},
          {"sectors", sectors(lanes)}};
}

Json shared_json(const Lanes& lanes, bool store) {
  Json groups = Json::array();
  for (const LaneGroup& group : lane_groups(lanes, store))
    groups.push_back({group.first, group.last, group.wavefronts});
  const Wavefronts served = wavefronts(lanes, store);
  return {{"bytes", lanes.bytes},
          {"address", by_lane(lanes, [](uint64_t address) { return address; })},
          {"bank", by_lane(lanes, [](uint64_t address) { return address / 4 % 32; })},
          {"groups", groups},
          {"wavefronts", served.count},
          {"conflicts", served.conflicts}};
}

Json copy_json(const TracedCopy& copy, Numbered& allocations) {
  Json made{{"lane", copy.lane}, {"direction", copy.stores ? "store" : copy.shared ? "load" : "prefetch"}};
  if (copy.box) {
    made["box"] = {
        {"type", copy.box->type}, {"start", copy.box->start}, {"size", copy.box->size}, {"swizzle", copy.box->swizzle}};
  }
  if (copy.global) {
    const auto [number, begin] = allocations.of(copy.within);
    made["global"] = {
        {"allocation", number}, {"address", static_cast<int64_t>(*copy.global - begin)}, {"bytes", copy.global_bytes}};
  }
  if (copy.shared) made["shared"] = {{"address", *copy.shared}, {"bytes", copy.shared_bytes}, {"blocks", copy.blocks}};
  return made;
}

Json operand_json(const TracedOperand& operand) {
  return {{"descriptor", hexadecimal(operand.descriptor)},
          {"start", operand.start},
          {"leading", operand.leading},
          {"stride", operand.stride},
          {"base_offset", operand.base_offset},
          {"swizzle", operand.swizzle},
          {"major", operand.k_major ? "K" : "MN"},
          {"lines", {operand.first_line, operand.lines}},
          {"spans", operand.spans}};
}

/// "load", "store", "atomic", or the instruction's own name where it does more than that.
std::string kind(const std::string& opcode) {
  const auto begins = [&](std::string_view with) { return opcode.starts_with(with); };
  if (begins("ld.")) return "load";
  if (begins("st.")) return "store";
  if (begins("atom.") || begins("red.")) return "atomic";
  for (const char* const name :
       {"wmma.load", "wmma.store", "wmma.mma", "cp.async.bulk", "cp.reduce.async.bulk", "cp.async"}) {
    if (begins(name)) return name;
  }
  return opcode.substr(0, opcode.find('.'));
}

Json instruction_json(const Program& program, uint32_t number, const TracedInstruction& traced, Numbered& allocations) {
  const Site& site = program.sites[number];
  const auto [file, line] = line_of(program, site.location);
  Json requests = Json::array();
  for (const TracedRequest& request : traced.requests) {
    Json one{{"order", request.order}};
    if (request.global) one["global"] = global_json(*request.global, allocations);
    if (request.shared) one["shared"] = shared_json(*request.shared, request.stores_shared);
    if (request.copy) one["copy"] = copy_json(*request.copy, allocations);
    for (const auto& [name, operand] : request.operands) one[name] = operand_json(operand);
    if (!request.operands.empty()) one["stores_under_way"] = request.stores_under_way;
    requests.push_back(one);
  }
  Json made{{"file", file < program.files.size() ? program.files[file] : ""},
            {"line", line},
            {"instruction", site.text},
            {"kind", kind(site.text)}};
  if (!traced.fragments.empty()) made["fragments"] = traced.fragments;
  made["requests"] = requests;
  return made;
}

/// Arrays of objects one object a line, all else on the line on which it begins.
void write(const Json& value, std::string& text, const std::string& indent) {
  const auto is_list = [](const Json& each) {
    return each.is_array() && std::any_of(each.begin(), each.end(), [](const Json& one) { return one.is_object(); });
  };
  if (is_list(value)) {
    text += "[";
    for (size_t i = 0; i < value.size(); ++i) {
      text += (i ? ",\n " : "\n ") + indent;
      write(value[i], text, indent + " ");
    }
    text += "\n" + indent + "]";
  } else if (value.is_object() && std::any_of(value.begin(), value.end(), is_list)) {
    text += "{";
    for (auto each = value.begin(); each != value.end(); ++each) {
      if (each != value.begin()) text += ", ";
      text += Json(each.key()).dump() + ": ";
      write(*each, text, indent);
    }
    text += "}";
  } else {
    text += value.dump();
  }
}

}  // namespace

std::unique_ptr<Trace> Traces::begin(const Program& program) {
  if (!begun_.insert(program.name).second) return nullptr;
  return std::make_unique<Trace>(warp_, most_requests_);
}

void Traces::add(const Launch& launch, const Trace& trace) {
  Numbered allocations(launch);
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, Json>> by_line;
  for (const auto& [number, instruction] : trace.instructions()) {
    by_line.emplace_back(line_of(launch.program, launch.program.sites[number].location),
                         instruction_json(launch.program, number, instruction, allocations));
  }
  std::stable_sort(by_line.begin(), by_line.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Json instructions = Json::array();
  for (auto& [line, instruction] : by_line) instructions.push_back(std::move(instruction));
  const Json made{{"name", readable(launch.program.name)},
                  {"symbol", launch.program.name},
                  {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                  {"block", {launch.block.x, launch.block.y, launch.block.z}},
                  {"warp", trace.warp},
                  {"allocations", allocations.to_json()},
                  {"shared_variables", shared_variables_json(launch)},
                  {"instructions", instructions}};
  write(made, kernels_.emplace_back(), "  ");
  for (const auto& [name, fragment] : trace.fragments()) fragments_.try_emplace(name, fragment);
}

std::string Traces::text() const {
  Json fragments = Json::array();
  for (const auto& [name, fragment] : fragments_) {
    fragments.push_back({{"name", name},
                         {"rows", fragment.rows},
                         {"cols", fragment.cols},
                         {"element_bits", fragment.element_bits},
                         {"elements", fragment.elements}});
  }
  std::string text = "{\"format\": 1, \"kernels\": [";
  for (size_t i = 0; i < kernels_.size(); ++i) text += (i ? ",\n  " : "\n  ") + kernels_[i];
  text += "\n ], \"fragments\": ";
  write(fragments, text, " ");
  return text + "}\n";
}

}  // namespace sim
