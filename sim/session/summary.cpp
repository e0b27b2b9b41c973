/// What was counted, as JSON: the tallies of the instructions gathered into the names under which they are recorded.
#include <map>
#include <nlohmann/json.hpp>

#include "core/checks/rules.h"
#include "session/simulator.h"

namespace sim {
namespace {

using json = nlohmann::ordered_json;

/// The counts of a kernel, or of one line of it.
struct Counts {
  uint64_t instructions = 0, barriers = 0, cp_async_requests = 0, cp_async_sectors = 0, cp_async_l1_sectors = 0,
           cp_async_wavefronts = 0, divergent = 0, tensor = 0, wgmma_wavefronts = 0;
  std::array<uint64_t, class_names.size()> by_class{};
  Tally loads, stores, tma_loads, tma_stores, tma_prefetches;

  void add(const Site& site, uint64_t executed, const Tally& tally) {
    const Class counted_as = site.counted_as;
    const auto says = [&](std::string_view modifier) { return site.text.find(modifier) != std::string::npos; };
    instructions += executed;
    by_class[static_cast<size_t>(counted_as)] += executed;
    divergent += tally.divergent;
    if (counted_as == Class::barrier) barriers += executed;
    if (counted_as == Class::tensor) {
      tensor += executed;
      wgmma_wavefronts += tally.shared_wavefronts;
    } else if (counted_as == Class::cp_async) {
      if (says(".shared")) cp_async_requests += tally.global_requests;
      cp_async_sectors += tally.global_sectors;
      cp_async_l1_sectors += tally.copied_sectors;
      cp_async_wavefronts += tally.shared_wavefronts;
    } else if (counted_as == Class::tma) {
      (says(".prefetch.") ? tma_prefetches : says(".global.shared") ? tma_stores : tma_loads) += tally;
    } else {
      const bool stores_data =
          counted_as == Class::store_global || counted_as == Class::store_shared || counted_as == Class::atomic;
      (stores_data ? stores : loads) += tally;
    }
  }

  /// Bulk copies by the TMA unit.
  json tma_json() const {
    return {{"load_requests", tma_loads.bulk_requests},
            {"load_bytes", tma_loads.bulk_bytes},
            {"load_sectors", tma_loads.bulk_sectors},
            {"shared_bytes", tma_loads.bulk_delivered},
            {"multicast_saved_bytes", tma_loads.bulk_saved},
            {"store_requests", tma_stores.bulk_requests},
            {"store_bytes", tma_stores.bulk_bytes},
            {"store_sectors", tma_stores.bulk_sectors},
            {"prefetch_requests", tma_prefetches.bulk_requests},
            {"prefetch_bytes", tma_prefetches.bulk_bytes}};
  }

  json to_json() const {
    json classes = json::object();
    const bool uses_tma = by_class[static_cast<size_t>(Class::tma)] != 0;
    for (size_t i = 0; i < by_class.size(); ++i) {
      if (static_cast<Class>(i) != Class::tma || uses_tma) classes[std::string(class_names[i])] = by_class[i];
    }
    json counts{{"instructions", instructions},
                {"by_class", classes},
                {"global_load_requests", loads.global_requests},
                {"global_load_sectors", loads.global_sectors},
                {"global_store_requests", stores.global_requests},
                {"global_store_sectors", stores.global_sectors},
                {"shared_load_requests", loads.shared_requests},
                {"shared_load_wavefronts", loads.shared_wavefronts},
                {"shared_load_conflicts", loads.shared_conflicts},
                {"shared_store_requests", stores.shared_requests},
                {"shared_store_wavefronts", stores.shared_wavefronts},
                {"shared_store_conflicts", stores.shared_conflicts},
                {"barriers", barriers},
                {"cp_async_requests", cp_async_requests},
                {"cp_async_global_sectors", cp_async_sectors},
                {"cp_async_l1_sectors", cp_async_l1_sectors},
                {"cp_async_shared_wavefronts", cp_async_wavefronts},
                {"tensor_ops", tensor},
                {"divergent_branches", divergent}};
    // Kernels that have none of it say nothing of it.
    if (uses_tma) counts["tma"] = tma_json();
    if (wgmma_wavefronts != 0) counts["wgmma_wavefronts"] = wgmma_wavefronts;
    return counts;
  }
};

json kernel_json(const Kernel& kernel, const LaunchTotals& totals) {
  const Program& program = *kernel.program;
  Counts total;
  std::map<std::pair<uint32_t, uint32_t>, Counts> lines;
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Site& site = program.sites[i];
    const uint64_t executed = totals.tallies->executed[i];
    if (executed == 0) continue;
    total.add(site, executed, totals.tallies->of[i]);
    lines[line_of(program, site.location)].add(site, executed, totals.tallies->of[i]);
  }
  json by_line = json::array();
  for (const auto& [place, counts] : lines) {
    const auto [file, line] = place;
    by_line.push_back({{"file", file < program.files.size() ? program.files[file] : ""},
                       {"line", line},
                       {"counts", counts.to_json()}});
  }
  return {{"name", readable(kernel.name)},
          {"symbol", kernel.name},
          {"launches", totals.launches},
          {"seconds", totals.seconds},
          {"grid", {totals.grid.x, totals.grid.y, totals.grid.z}},
          {"block", {totals.block.x, totals.block.y, totals.block.z}},
          {"counts", total.to_json()},
          {"lines", by_line}};
}

json mistakes_json(const Reports& reports) {
  json all = json::array();
  for (const Mistake& mistake : mistakes_of(reports))
    all.push_back({{"text", told(mistake)}, {"warning", mistake.first.warning}});
  return all;
}

}  // namespace

std::pair<uint32_t, uint32_t> line_of(const Program& program, const ptx::Location& location) {
  const bool elsewhere = location.file != program.location.file && location.caller_file != 0;
  return elsewhere ? std::pair{location.caller_file, location.caller_line} : std::pair{location.file, location.line};
}

std::string Simulator::summary(bool asked) {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, json> kernels;  // by name, so that the order does not depend on where the linker put them
  for (const auto& [kernel, totals] : totals_) kernels[kernel->name] = kernel_json(*kernel, totals);
  json result{{"version", 1}, {"kernels", json::array()}, {"reports", json::array()}, {"warnings", json::array()}};
  for (const auto& [name, kernel] : kernels) result["kernels"].push_back(kernel);
  const auto list = [&](const char* key, const std::vector<Report>& some) {
    for (const Report& report : some) {
      result[key].push_back({{"kind", name(report.kind)},
                             {"kernel", readable(report.kernel)},
                             {"message", report.message},
                             {"times", report.times},
                             {"lines", json::array({report.lines.own_here, report.lines.own_there})}});
      if (!report.warning) result[key].back()["rule"] = rule(report.kind);
      if (report.unordered) add_unordered(result[key].back(), *report.unordered);
    }
  };
  list("reports", reports.all());
  list("warnings", reports.warnings());
  result["mistakes"] = mistakes_json(reports);
  if (asked) reports_given = result["reports"].size();
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Simulator::mistakes() {
  const std::scoped_lock lock(mutex_);
  reports_given = reports.all().size();
  return mistakes_json(reports).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace sim
