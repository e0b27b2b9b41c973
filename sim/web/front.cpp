#include "web/front.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "core/asynchronous/tensor_map.h"
#include "core/base/readable.h"
#include "core/checks/served_words.h"
#include "core/ptx/parse.h"
#include "session/followed.h"
#include "session/hash.h"
#include "session/numbered.h"

namespace sim::web {
namespace {

using Clock = std::chrono::steady_clock;

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr uint64_t most_bytes = uint64_t{1} << 30;  ///< of one allocation; a tab has 2 to 4 GB

Dim3 size_of(const Json& from) { return {from.at(0), from.at(1), from.at(2)}; }

std::vector<std::byte> bytes_of(const std::string& digits) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// The wavefront rule: of one access to shared memory by these addresses, null for lanes that take no part.
Json wavefronts_of(const Json& request) {
  Lanes lanes;
  lanes.bytes = request.at("bytes");
  const bool store = request.value("store", false);
  const Json& addresses = request.at("addresses");
  std::optional<uint64_t> any;
  for (uint32_t lane = 0; lane < warp_size && lane < addresses.size(); ++lane) {
    if (addresses[lane].is_null()) continue;
    lanes.mask |= 1u << lane;
    lanes.address[lane] = addresses[lane];
    if (!any) any = lanes.address[lane];
  }
  if (!any) {
    return {{"wavefronts", 0}, {"conflicts", 0}, {"groups", Json::array()}, {"passes", Json::array()}};
  }
  for (uint32_t lane = 0; lane < warp_size; ++lane)
    if (!(lanes.mask >> lane & 1)) lanes.address[lane] = *any;
  const Wavefronts served = wavefronts(lanes, store);
  Json groups = Json::array(), passes = Json::array();
  for (const LaneGroup& group : lane_groups(lanes, store)) {
    groups.push_back({group.first, group.last, group.wavefronts});
    for (const auto& words : served_words(lanes, group)) {
      Json now = Json::array();
      for (const ServedWord& each : words) {
        Json by = Json::array();
        for_lanes(each.lanes, [&](uint32_t lane) { by.push_back(lane); });
        now.push_back({{"word", each.word}, {"bank", each.bank}, {"lanes", by}});
      }
      passes.push_back({{"group", groups.size() - 1}, {"words", now}});
    }
  }
  return {{"wavefronts", served.count}, {"conflicts", served.conflicts}, {"groups", groups}, {"passes", passes}};
}

const char* state_name(Warp::State state) {
  return state == Warp::State::done ? "done" : state == Warp::State::waiting ? "waiting" : "running";
}

Json site_json(const Program& program, uint32_t number) {
  const Site& site = program.sites[number];
  const auto [file, line] = line_of(program, site.location);
  return {{"instruction", site.text},
          {"ptx_line", site.text_line},
          {"file", file < program.files.size() ? program.files[file] : ""},
          {"line", line}};
}

}  // namespace

Json Front::answer(const Json& request) {
  try {
    const std::string what = request.at("do");
    if (what == "start") return start(request);
    if (what == "module") return module(request);
    if (what == "allocate") return allocate(request);
    if (what == "launch") return launch(request);
    if (what == "run") return run(request);
    if (what == "summary") return summary(request);
    if (what == "events") return events(request);
    if (what == "trace") return trace(request);
    if (what == "follow") return follow(request);
    if (what == "origins") return origins(request);
    if (what == "origin") return origin(request);
    if (what == "writer") return writer(request);
    if (what == "hash") {
      const uint64_t address = request.at("address");
      return {{"hash", hexadecimal(hash_of(reinterpret_cast<const std::byte*>(address), request.at("bytes")))}};
    }
    if (what == "inspect") return inspect(request);
    if (what == "step") return step(request);
    if (what == "back") return back(request);
    if (what == "registers") return registers(request);
    if (what == "wavefronts") return wavefronts_of(request);
    return {{"error", "there is no request '" + what + "'"}};
  } catch (const std::bad_alloc&) {
    return {{"error", "the page has no more memory"}};
  } catch (const std::exception& problem) {
    return {{"error", problem.what()}};
  }
}

Simulator& Front::simulator() {
  if (!simulator_) start(Json::object());
  return *simulator_;
}

Front::Under& Front::under_way() {
  if (!under_way_) throw Refusal("no launch is under way");
  return *under_way_;
}

Inspection& Front::inspection() const {
  if (!under_way_ || !under_way_->inspection) throw Refusal("nothing is being stepped through");
  return *under_way_->inspection;
}

/// A new session; the one before is forgotten, with its memory.
Json Front::start(const Json& request) {
  Settings settings;
  settings.device = device(request.value("device", "h200"));
  settings.options.seed = request.value("seed", 0);
  settings.options.watch = request.value("checks", true);
  settings.options.max_seconds = 1e9;  // whoever looks at the page can stop it
  settings.multiprocessors = request.value("multiprocessors", 0);
  origins_.reset();
  under_way_.reset();
  stops_.clear();
  simulator_ = nullptr;
  modules_.clear();
  names_.clear();
  memory_.clear();
  simulator_ = std::make_unique<Simulator>(std::move(settings));
  return {{"device", simulator_->device.name}, {"multiprocessors", simulator_->multiprocessors}};
}

Json Front::module(const Json& request) {
  const std::string text = request.at("ptx");
  Json kernels = Json::array();
  for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 1)) {
    size_t begin = at + 6;
    while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
    size_t end = begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '$'))
      ++end;
    if (end == begin) continue;
    const std::string symbol = text.substr(begin, end - begin);
    kernels.push_back({{"symbol", symbol}, {"name", readable(symbol)}});
  }
  if (kernels.empty()) throw Refusal("this text has no .entry: it is no PTX of a kernel");
  Module* const made = simulator().add_module(text);
  try {
    made->check_target();
  } catch (const Refused&) {
    simulator().remove_module(made);
    throw;
  }
  modules_.push_back(made);
  return {{"module", modules_.size() - 1}, {"kernels", kernels}};
}

Json Front::allocate(const Json& request) {
  const uint64_t bytes = request.at("bytes");
  if (bytes > most_bytes) throw Refusal("an array of " + std::to_string(bytes >> 20) + " MiB is too large for a page");
  auto memory = std::make_unique<std::byte[]>(bytes + 256);
  const auto begin = (reinterpret_cast<uintptr_t>(memory.get()) + 255) / 256 * 256;
  std::memset(reinterpret_cast<void*>(begin), request.value("fill", 0xff), bytes);
  simulator().allocations.add(begin, bytes, "cudaMalloc");
  memory_.push_back(std::move(memory));
  return {{"address", begin}};
}

Json Front::refusal(LaunchResult result, const Kernel& kernel) const {
  const auto sentence = [&]() -> std::string {
    switch (result) {
      case LaunchResult::bad_configuration: return "the grid or the block has a size that the kernel does not take";
      case LaunchResult::too_much_shared_memory: return "the block asks for more shared memory than it may have";
      case LaunchResult::not_runnable: return kernel.refusal;
      default: break;
    }
    const auto all = simulator_->reports.all();
    return all.empty() ? "the launch is refused" : all.back().message;
  };
  return {{"error", sentence()}};
}

Json Front::launch(const Json& request) {
  origins_.reset();
  under_way_.reset();
  Module* const module = modules_.at(request.at("module"));
  const std::string symbol = request.at("kernel");
  std::unique_ptr<char>& name = names_[{module, symbol}];
  if (!name) {
    name = std::make_unique<char>();
    simulator().add_kernel(module, name.get(), symbol);
  }
  Kernel& kernel = *simulator().kernel(name.get());
  const Program* const program = kernel.decoded();
  if (!program) return refusal(LaunchResult::not_runnable, kernel);

  std::vector<std::byte> parameters = bytes_of(request.at("parameters"));
  if (parameters.size() != program->parameter_bytes) {
    throw Refusal("the kernel takes " + std::to_string(program->parameter_bytes) + " bytes of parameters, not " +
                  std::to_string(parameters.size()));
  }
  for (const Json& pointer : request.value("pointers", Json::array())) {
    const size_t offset = pointer.at(0);
    const uint64_t address = pointer.at(1);
    if (offset + sizeof address > parameters.size()) throw Refusal("a pointer lies outside of the parameters");
    std::memcpy(parameters.data() + offset, &address, sizeof address);
  }
  for (const size_t offset : request.value("maps", std::vector<size_t>())) {  // their pointers are set: sealed anew
    TensorMap map;
    if (offset + sizeof map > parameters.size()) throw Refusal("a tensor map lies outside of the parameters");
    std::memcpy(&map, parameters.data() + offset, sizeof map);
    map = moved(map, map.address);
    std::memcpy(parameters.data() + offset, &map, sizeof map);
  }
  std::vector<void*> arguments;
  for (const auto& [offset, bytes] : program->parameters) arguments.push_back(parameters.data() + offset);
  const uint32_t shared = request.value("shared", 0);
  kernel.dynamic_shared_limit = shared;
  kernel.non_portable_cluster = true;
  std::optional<Dim3> cluster;
  if (request.value("explicit", false)) cluster = size_of(request.at("cluster"));
  LaunchResult refused{};
  auto made = simulator().begin(
      kernel, {size_of(request.at("grid")), size_of(request.at("block")), arguments.data(), shared, cluster}, refused);
  if (!made) return refusal(refused, kernel);
  under_way_ = Under{&kernel, std::move(made), nullptr, nullptr};
  const Launch& launch = *under_way_->launch;
  return {{"blocks", launch.grid.count()}, {"warps", launch.warps()}, {"instructions", program->code.size()}};
}

/// Goes on for so many milliseconds.
Json Front::run(const Json& request) {
  Under& under = under_way();
  if (!under.run) under.run = std::make_unique<Run>(*under.launch);
  const double seconds = request.value("milliseconds", 50.0) / 1000;
  const auto begun = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  bool more = true;
  while (more && elapsed() < seconds) more = under.run->turn();
  under.seconds += elapsed();
  Json made{{"done", !more},
            {"blocks_done", under.launch->done_blocks.load()},
            {"blocks", under.launch->grid.count()},
            {"seconds", under.seconds}};
  if (!more) {
    const LaunchResult result = simulator().end(*under.kernel, *under.launch, under.run->tallies(), under.seconds);
    made["failed"] = result != LaunchResult::done;
    under_way_.reset();
  }
  return made;
}

Json Front::summary(const Json&) { return Json::parse(simulator().summary()); }

/// Runs one cluster of the launch to its end, or until it waits for others that do not run.
Json Front::one_cluster(uint64_t number) {
  constexpr uint32_t most_polls = 1u << 12;
  Launch& launch = *under_way().launch;
  if (number >= launch.clusters()) throw Refusal("the grid has no such cluster");
  Cluster cluster(launch);
  cluster.start(number);
  uint32_t polls = 0;
  for (auto now = Cluster::Progress::running; now != Cluster::Progress::done && polls < most_polls;) {
    now = cluster.round();
    polls = now == Cluster::Progress::polling ? polls + 1 : 0;
  }
  cluster.count_reports();
  Json reports = Json::array();
  for (const Report& report : simulator_->reports.all())
    reports.push_back({{"kind", name(report.kind)}, {"message", report.message}});
  return {{"waits_for_others", polls == most_polls}, {"reports", reports}};
}

/// The events of one cluster, which runs alone; with that the launch is over.
Json Front::events(const Json& request) {
  Under& under = under_way();
  Events::Asked asked{.cluster = request.value("cluster", uint64_t{0}),
                      .first = request.value("first", uint64_t{0}),
                      .most = request.value("most", uint64_t{1} << 16),
                      .clocks = request.value("clocks", false),
                      .accesses = request.value("accesses", false),
                      .without = {}};
  if (request.contains("without") && !request["without"].is_null()) asked.without = request["without"];
  Events events(asked);
  if (asked.accesses)
    events.named = named_registers(*under.kernel->program, under.kernel->module->text(under.kernel->name));
  under.launch->events = &events;
  Json made = one_cluster(asked.cluster);
  made.update(events_json(*under.launch, events));
  made["format"] = 2;
  under_way_.reset();
  return made;
}

/// What the first requests of a warp of the first block touch, which runs alone; with that the launch is over.
Json Front::trace(const Json& request) {
  Under& under = under_way();
  Trace trace(std::min(request.value("warp", 0u), under.launch->warps() - 1), request.value("requests", 8u));
  under.launch->trace = &trace;
  one_cluster(0);
  Traces traces(trace.warp, 0);
  traces.add(*under.launch, trace);
  under_way_.reset();
  return Json::parse(traces.text());
}

// --- where values go to, and come from ---

/// Where an element of an array goes, of the launch that is under way and has not run.
Json Front::follow(const Json& request) {
  std::optional<uint64_t> cluster;
  if (request.contains("cluster") && !request["cluster"].is_null()) cluster = request["cluster"];
  const AskedElement asked{request.at("array"), request.at("offset"), request.at("bytes")};
  Json made = followed_json(*under_way().launch, asked, cluster);
  if (made.is_null()) throw Refusal("the launch has no such element");
  return made;
}

namespace {

uint64_t address_of(const Launch& launch, const Json& request) {
  const auto range = Numbered(launch).at(request.at("array"));
  const uint64_t offset = request.value("offset", uint64_t{0});
  if (!range || offset >= range->end - range->begin) throw Refusal("the launch has no such array");
  return range->begin + offset;
}

}  // namespace

/// Finds out from where all that a cluster holds at a step, or at its end, came; `origin` asks for parts of it.
Json Front::origins(const Json& request) {
  const Launch& launch = *under_way().launch;
  std::vector<Provenance::Array> arrays;
  for (const Json& each : request.at("arrays"))
    arrays.push_back({address_of(launch, each), each.at("bytes"), each.at("rows"), each.at("cols"), each.at("pitch")});
  uint64_t step = Provenance::at_the_end;
  if (request.contains("step") && !request["step"].is_null()) step = request["step"];
  origins_ = Provenance(launch).origins(arrays, request.value("cluster", uint64_t{0}), step);
  return Json::object();
}

Json Front::origin(const Json& request) {
  if (!origins_) throw Refusal("nothing has been asked about origins");
  const Launch& launch = *under_way().launch;
  const uint32_t rank = request.value("block", 0), bytes = request.value("bytes", 4u);
  if (request.contains("shared"))
    return {{"sources", sources_json(origins_->of_shared(rank, request["shared"], bytes))}};
  if (!request.contains("register"))
    return {{"sources", sources_json(origins_->of_global(address_of(launch, request), bytes))}};
  const std::string wanted = request["register"];
  for (const auto& each : launch.program.registers) {
    if (each.name != wanted) continue;
    const uint32_t width = static_cast<uint32_t>(each.width), lane = request.at("lane");
    return {{"sources", sources_json(origins_->of_register(rank, request.value("warp", 0u), each.offset,
                                                           lane * width + request.value("first_byte", 0u),
                                                           std::min(bytes, width)))}};
  }
  throw Refusal("the kernel has no such register");
}

/// The cluster that writes a place.
Json Front::writer(const Json& request) {
  const Launch& launch = *under_way().launch;
  const auto cluster = Provenance(launch).writer_of({address_of(launch, request), request.value("bytes", 4u)});
  return {{"cluster", cluster ? Json(*cluster) : Json()}};
}

// --- stepping ---

Json Front::inspect(const Json& request) {
  Under& under = under_way();
  const uint64_t cluster = request.value("cluster", 0);
  if (cluster >= under.launch->clusters()) throw Refusal("the grid has no such cluster");
  stops_.clear();
  under.run.reset();
  under.inspection = std::make_unique<Inspection>(*under.launch, cluster);
  return state();
}

Json Front::step(const Json& request) {
  using By = Inspection::By;
  const std::string by = request.value("by", "instruction");
  const By how = by == "line" ? By::line : by == "turn" ? By::turn : by == "event" ? By::event : By::instruction;
  const uint32_t rank = request.value("block", 0), warp = request.value("warp", 0);
  Inspection& at = inspection();
  if (rank >= at.cluster().blocks().size() || warp >= at.launch().warps()) throw Refusal("there is no such warp");
  const size_t before = at.done().size();
  stops_.push_back(before);
  at.step(how, rank, warp);
  return moved_on(before);
}

Json Front::back(const Json&) {
  const size_t steps = stops_.empty() ? 0 : stops_.back();
  if (!stops_.empty()) stops_.pop_back();
  go_back_to(steps);
  return state();
}

void Front::go_back_to(size_t steps) {
  simulator().reports.clear();
  inspection().begin_anew(steps);
}

Json Front::moved_on(size_t before) const {
  Json made = state();
  made["stepped"] = inspection().done().size() - before;
  return made;
}

Json Front::state() const {
  Inspection& at = inspection();
  Cluster& cluster = at.cluster();
  const Program& program = at.launch().program;
  Json blocks = Json::array();
  for (uint32_t rank = 0; rank < cluster.blocks().size(); ++rank) {
    Block& block = *cluster.blocks()[rank];
    Json warps = Json::array(), barriers = Json::array(), mbarriers = Json::array();
    for (uint32_t i = 0; i < at.launch().warps(); ++i) {
      const Warp& warp = block.warps()[i];
      Json one = site_json(program, at.site(rank, i));
      one["state"] = state_name(warp.state);
      one["words"] = block.state_of(warp);
      one["active"] = warp.active;
      one["live"] = warp.live;
      one["copies"] = block.transfers.under_way(i);
      const Products::State products = block.products.state_of(i);
      if (products.issued != 0)
        one["products"] = {
            {"issued", products.issued}, {"committed", products.committed}, {"under_way", products.under_way}};
      warps.push_back(std::move(one));
    }
    for (const auto& barrier : block.open_barriers())
      barriers.push_back({{"number", barrier.number}, {"arrived", barrier.arrived}, {"of", barrier.expected}});
    for (const Mbarrier* const each : block.mbarriers.all())
      mbarriers.push_back({{"address", each->address},
                           {"phase", each->phase},
                           {"pending", each->pending},
                           {"of", each->expected},
                           {"bytes", each->bytes}});
    blocks.push_back({{"name", block.name()}, {"warps", warps}, {"barriers", barriers}, {"mbarriers", mbarriers}});
  }
  Json copies = Json::array();
  for (const AsyncProxy::State& each : cluster.async.under_way()) {
    Json one{{"number", each.number},
             {"by", cluster.agent_name(each.agent)},
             {"instruction", program.sites[each.site].text},
             {"landed", each.landed}};
    if (each.transfer.signal)
      one["signals"] = {{"block", each.transfer.signal->block->rank},
                        {"mbarrier", each.transfer.signal->mbarrier},
                        {"bytes", each.transfer.signal->bytes}};
    copies.push_back(std::move(one));
  }
  Json reports = Json::array();
  for (const Report& report : simulator_->reports.all())
    reports.push_back({{"kind", name(report.kind)}, {"message", report.message}});
  return {{"steps", at.done().size()}, {"over", at.over()}, {"can_go_back", !stops_.empty()},
          {"blocks", blocks},          {"copies", copies},  {"reports", reports}};
}

/// A warp's registers by the names that PTX has for them: those that are asked for, or all.
Json Front::registers(const Json& request) const {
  Inspection& at = inspection();
  const uint32_t rank = request.value("block", 0), number = request.value("warp", 0);
  if (rank >= at.cluster().blocks().size() || number >= at.launch().warps()) throw Refusal("there is no such warp");
  const auto asked = request.value("names", std::vector<std::string>());
  Json made = Json::object();
  for (const auto& each : at.launch().program.registers) {
    if (!asked.empty() && std::find(asked.begin(), asked.end(), each.name) == asked.end()) continue;
    Json lanes = Json::array();
    const auto bits_of_lanes = at.lanes(rank, number, each.name);
    for (const uint64_t bits : *bits_of_lanes)
      lanes.push_back(each.width == ptx::Width::predicate ? Json(bits) : Json(hexadecimal(bits)));
    made[each.name] = {{"bits", static_cast<uint32_t>(each.width) * 8}, {"lanes", lanes}};
  }
  return made;
}

}  // namespace sim::web

namespace {

sim::web::Front front;
std::string answered;

}  // namespace

extern "C" {

/// Room for a text, or for anything, in the module's memory.
[[gnu::used]] char* front_room(uint32_t bytes) { return static_cast<char*>(std::malloc(bytes)); }
[[gnu::used]] void front_release(char* room) { std::free(room); }

/// Answers a request of so many bytes of JSON; the answer is valid until the next call.
[[gnu::used]] const char* front_call(const char* request, uint32_t bytes) {
  const auto parsed = sim::web::Json::parse(request, request + bytes, nullptr, false);
  const auto made =
      parsed.is_object() ? front.answer(parsed) : sim::web::Json{{"error", "the request is no JSON object"}};
  answered = made.dump(-1, ' ', false, sim::web::Json::error_handler_t::replace);
  return answered.c_str();
}
}
