#include "session/events.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/readable.h"
#include "core/checks/rules.h"
#include "session/simulator.h"
#include "session/variables.h"

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

/// One value for each lane, null for lanes that take no part.
template <class Value>
Json by_lane(uint32_t mask, Value value) {
  Json all = Json::array();
  for (uint32_t lane = 0; lane < warp_size; ++lane) all.push_back(mask >> lane & 1 ? Json(value(lane)) : Json());
  return all;
}

Json access_json(const Event::Access& access) {
  const Lanes& lanes = access.lanes;
  Json made{{"space", access.shared ? "shared" : "global"},
            {"does", access.store ? "store" : "load"},
            {"bytes", lanes.bytes},
            {"address", by_lane(lanes.mask, [&](uint32_t lane) { return lanes.address[lane]; })}};
  if (access.registers.empty()) return made;
  Json& registers = made["registers"] = Json::object();
  for (const Event::Register& each : access.registers)
    registers[each.name] = by_lane(lanes.mask, [&](uint32_t lane) { return hexadecimal(each.lanes[lane]); });
  return made;
}

/// Without what says nothing.
Json event_json(const Launch& launch, const Event& event, uint64_t number) {
  using Kind = Event::Kind;
  Json made{{"seq", number}, {"kind", name(event.kind)}};
  const uint32_t warps = launch.warps();
  if (event.agent != Event::nobody) {
    made["rank"] = event.agent / warps;
    made["warp"] = event.agent % warps;
  }
  if (event.site != Event::nobody) made["site"] = event.site;
  const bool cluster = event.kind == Kind::cluster_arrive || event.kind == Kind::cluster_wait ||
                       event.kind == Kind::cluster_pass || event.kind == Kind::cluster_complete;
  if (event.barrier) {
    const bool named = event.kind == Kind::barrier_arrive || event.kind == Kind::barrier_complete ||
                       (event.kind == Kind::left_out && !event.phase);
    made[named ? "barrier" : "mbarrier"] = *event.barrier;
    made["of"] = event.owner;
  }
  if (event.phase) made["phase"] = *event.phase;
  if (event.missing) made["missing"] = *event.missing;
  if (event.expected != 0) made["expected"] = event.expected;
  if (event.missing_bytes != 0) made["missing_bytes"] = event.missing_bytes;
  if (event.kind == Kind::registers) {
    made["registers"] = *event.bytes;
  } else if (event.bytes) {
    made["bytes"] = *event.bytes;
  }
  if (event.group) made["group"] = *event.group;
  if (event.copy && event.kind != Kind::wgmma_issue) made["copy"] = *event.copy;
  if (event.shared) {
    made["shared"] = *event.shared;
    made["of"] = event.owner;
  }
  if (event.times != 1) made["times"] = event.times;
  if (event.kind == Kind::barrier_complete) {
    Json& going = made["goes_on"] = Json::array();
    for_lanes(event.goes_on, [&](uint32_t warp) { going.push_back(warp); });
  }
  if (cluster) made["of"] = 0;
  made["caused_by"] = event.cause == Event::none ? Json() : Json(event.cause);
  made["stamp"] = event.stamp;
  if (!event.seen.empty()) made["seen"] = event.seen;
  if (event.access) made["access"] = access_json(*event.access);
  return made;
}

/// The first block's place in the grid of a cluster with this number, then those of the others: as Cluster::start has
/// it.
Json blocks_json(const Launch& launch, uint64_t number) {
  const Dim3 size = launch.cluster;
  const uint64_t across = launch.grid.x / size.x, down = launch.grid.y / size.y;
  Json all = Json::array();
  for (uint32_t rank = 0; rank < size.count(); ++rank) {
    all.push_back({number % across * size.x + rank % size.x, number / across % down * size.y + rank / size.x % size.y,
                   number / across / down * size.z + rank / size.x / size.y});
  }
  return all;
}

}  // namespace

void add_unordered(Json& finding, const Unordered& two) {
  const bool within = two.is_within_a_cluster();
  const auto stamp = [](uint32_t of) { return of == Unordered::none ? Json() : Json(of); };
  const auto side = [&](const Unordered::Side& of) {
    Json made{{"agent", of.agent}, {"name", of.name}, {"stamp", stamp(of.stamp)}};
    if (!within) made["cluster"] = of.cluster;
    return made;
  };
  Json& made = finding[within ? "unordered" : "unordered_clusters"] = Json::object();
  if (within) made["cluster"] = two.second.cluster;
  made["first"] = side(two.first);
  made["second"] = side(two.second);
  made["seen"] = two.seen;
  if (two.first_seen.empty()) return;
  made["first_seen"] = two.first_seen;
  made["first_learnt"] = stamp(two.first_learnt);
}

Json events_json(const Launch& launch, const Events& events) {
  const Program& program = launch.program;
  const std::vector<Event> kept = events.kept();
  Json all = Json::array(), sites = Json::object();
  for (uint64_t i = 0; i < kept.size(); ++i) {
    all.push_back(event_json(launch, kept[i], events.asked.first + i));
    if (kept[i].site == Event::nobody) continue;
    const Site& site = program.sites[kept[i].site];
    const auto [file, line] = line_of(program, site.location);
    sites[std::to_string(kept[i].site)] = {
        {"instruction", site.text}, {"file", file < program.files.size() ? program.files[file] : ""}, {"line", line}};
  }
  Json findings = Json::array();
  for (const Events::Found& each : events.unordered) {
    findings.push_back({{"after", each.after}, {"kind", name(each.kind)}});
    if (!each.warning) findings.back()["rule"] = rule(each.kind);
    add_unordered(findings.back(), each.two);
  }
  Json made{{"name", readable(program.name)},
            {"symbol", program.name},
            {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
            {"block", {launch.block.x, launch.block.y, launch.block.z}},
            {"cluster", {launch.cluster.x, launch.cluster.y, launch.cluster.z}},
            {"blocks", blocks_json(launch, events.asked.cluster)},
            {"warps", launch.warps()},
            {"shared_variables", shared_variables_json(launch)},
            {"window", {{"first", events.asked.first}, {"kept", kept.size()}, {"all", events.count()}}},
            {"sites", sites},
            {"events", all}};
  if (!findings.empty()) made["findings"] = findings;
  return made;
}

std::vector<std::vector<Events::Named>> named_registers(const Program& program, std::string_view ptx) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at <= ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    lines.push_back(ptx.substr(at, end - at));
    at = end + 1;
  }
  const auto is_part = [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_'; };
  std::vector<std::vector<Events::Named>> named(program.sites.size());
  for (size_t site = 0; site < named.size(); ++site) {
    const uint32_t number = program.sites[site].text_line;
    if (number == 0 || number > lines.size()) continue;
    const std::string_view line = lines[number - 1];
    for (size_t at = line.find('%'); at != std::string_view::npos; at = line.find('%', at + 1)) {
      size_t end = at + 1;
      while (end < line.size() && is_part(line[end])) ++end;
      const std::string_view name = line.substr(at, end - at);
      const auto known = std::find_if(program.registers.begin(), program.registers.end(),
                                      [&](const auto& each) { return each.name == name; });
      if (known == program.registers.end() || known->width == ptx::Width::predicate) continue;
      const uint32_t bytes = std::max(2u, static_cast<uint32_t>(known->width));
      named[site].push_back({std::string(name), known->offset, bytes});
    }
  }
  return named;
}

std::unique_ptr<Events> EventLogs::begin(const Launch& launch, std::string_view ptx) {
  if (!begun_.insert(launch.program.name).second) return nullptr;
  auto made = std::make_unique<Events>(asked_);
  if (asked_.accesses) made->named = named_registers(launch.program, ptx);
  return made;
}

void EventLogs::add(const Launch& launch, const Events& events, const Json& followed) {
  Json made = events_json(launch, events);
  Json all = std::move(made["events"]);
  made.erase("events");
  if (!followed.is_null()) made["followed"] = followed;
  std::string text = made.dump();
  text.back() = ',';
  text += " \"events\": [";
  for (size_t i = 0; i < all.size(); ++i) text += (i ? ",\n   " : "\n   ") + all[i].dump();
  kernels_.push_back(text + "\n  ]}");
}

std::string EventLogs::text() const {
  std::string text = "{\"format\": 2, \"kernels\": [";
  for (size_t i = 0; i < kernels_.size(); ++i) text += (i ? ",\n  " : "\n  ") + kernels_[i];
  return text + "\n ]}\n";
}

}  // namespace sim
