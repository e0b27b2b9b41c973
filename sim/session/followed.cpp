#include "session/followed.h"

#include <nlohmann/json.hpp>

#include "core/base/readable.h"
#include "session/numbered.h"
#include "session/simulator.h"
#include "session/variables.h"

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

Json lanes_json(uint32_t mask) {
  Json all = Json::array();
  for_lanes(mask, [&](uint32_t lane) { all.push_back(lane); });
  return all;
}

/// The access by which a value came: what the memory system makes of it, and the lanes that ask for the value's bytes.
Json access_json(const Mark& mark, Numbered& allocations) {
  const auto& [lanes, shared, store] = *mark.access;
  const uint64_t begin = shared ? 0 : allocations.of(lanes.address[first_lane(lanes.mask)]).second;
  Json addresses = Json::array();
  uint32_t by = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    const bool takes_part = lanes.mask >> lane & 1;
    addresses.push_back(takes_part ? Json(static_cast<int64_t>(lanes.address[lane] - begin)) : Json());
    if (takes_part && lanes.address[lane] <= mark.address && mark.address < lanes.address[lane] + lanes.bytes)
      by |= 1u << lane;
  }
  Json made{
      {"memory", shared ? "shared" : "global"}, {"bytes", lanes.bytes}, {"by", lanes_json(by)}, {"address", addresses}};
  if (shared) {
    const Wavefronts served = wavefronts(lanes, store);
    made["wavefronts"] = served.count;
    made["conflicts"] = served.conflicts;
  } else {
    made["sectors"] = sectors(lanes);
  }
  return made;
}

Json mark_json(const Mark& mark, Numbered& allocations) {
  constexpr const char* kinds[] = {"registers", "shared", "operand", "global"};
  Json made{{"kind", kinds[static_cast<size_t>(mark.kind)]}, {"step", mark.step}};
  made["block"] = mark.rank;
  made["warp"] = mark.warp == Event::nobody ? Json() : Json(mark.warp);
  made["site"] = mark.site == Event::nobody ? Json() : Json(mark.site);
  if (mark.lanes != 0) made["lanes"] = lanes_json(mark.lanes);
  made["sum"] = mark.sum;
  if (!mark.name.empty()) {
    made["register"] = mark.name;
    made["bits"] = mark.bits;
    made["first_byte"] = mark.first_byte;
  }
  const bool in_shared = mark.kind == Mark::Kind::shared || mark.operand || (mark.access && mark.access->shared);
  if (in_shared) {
    made["of"] = mark.kind == Mark::Kind::registers ? mark.rank : mark.owner;
    made["shared"] = mark.address;
    made["bank"] = mark.address / 4 % 32;
  } else if (mark.address != 0) {
    const auto [number, begin] = allocations.of(mark.address);
    made["allocation"] = number;
    made["offset"] = mark.address - begin;
    made["sector"] = (mark.address - begin) / 32;
  }
  if (mark.bytes != 0) made["bytes"] = mark.bytes;
  if (mark.kind == Mark::Kind::operand) {
    made["operand"] = std::string(1, mark.of);
    made["row"] = mark.row;
    made["col"] = mark.col;
  }
  if (mark.operand) made["swizzle"] = mark.operand->swizzle;
  if (mark.access) made["access"] = access_json(mark, allocations);
  if (mark.copy && mark.copy->box)
    made["box"] = {{"start", mark.copy->box->start},
                   {"size", mark.copy->box->size},
                   {"swizzle", mark.copy->box->swizzle},
                   {"shared", *mark.copy->shared}};
  if (mark.issued_step) made["issued"] = *mark.issued_step;
  return made;
}

}  // namespace

Json followed_json(const Launch& launch, const AskedElement& asked, std::optional<uint64_t> cluster) {
  Numbered allocations(launch);
  const auto range = allocations.at(asked.array);
  const uint64_t offset = asked.offset / asked.bytes * asked.bytes;
  if (!range || offset + asked.bytes > range->end - range->begin || launch.cooperative) return {};
  Provenance provenance(launch);
  const Provenance::Element element{range->begin + offset, asked.bytes};
  const Provenance::Uses uses = provenance.uses_of(element);
  const Provenance::Followed found =
      provenance.follow(element, cluster.value_or(uses.clusters.empty() ? 0 : uses.clusters.front()));

  const Program& program = launch.program;
  Json blocks = Json::array(), marks = Json::array(), feeds = Json::array(), sites = Json::object();
  for (uint32_t rank = 0; rank < launch.cluster.count(); ++rank) {
    const Dim3 at = launch.index_of(found.cluster, rank);
    blocks.push_back({at.x, at.y, at.z});
  }
  for (const Mark& mark : found.marks) {
    marks.push_back(mark_json(mark, allocations));
    if (mark.site == Event::nobody) continue;
    const Site& site = program.sites[mark.site];
    const auto [file, line] = line_of(program, site.location);
    sites[std::to_string(mark.site)] = {{"instruction", site.text},
                                        {"file", file < program.files.size() ? program.files[file] : ""},
                                        {"line", line},
                                        {"ptx_line", site.text_line}};
  }
  for (const Provenance::Element& each : uses.feeds) {
    const auto [number, begin] = allocations.of(each.address);
    feeds.push_back({{"allocation", number}, {"offset", each.address - begin}, {"bytes", each.bytes}});
  }
  return {
      {"element", {{"allocation", asked.array}, {"offset", offset}, {"bytes", asked.bytes}, {"sector", offset / 32}}},
      {"clusters", uses.clusters},
      {"cluster", found.cluster},
      {"blocks", blocks},
      {"steps", found.steps},
      {"diverged", found.diverged},
      {"cut", found.cut},
      {"allocations", allocations.to_json()},
      {"shared_variables", shared_variables_json(launch)},
      {"sites", sites},
      {"marks", marks},
      {"feeds", feeds}};
}

Json sources_json(const std::vector<Provenance::Source>& sources) {
  Json all = Json::array();
  for (const Provenance::Source& each : sources)
    all.push_back({{"array", each.array}, {"rows", each.rows}, {"cols", each.cols}});
  return all;
}

}  // namespace sim
