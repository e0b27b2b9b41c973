/// The simulator as a page uses it: one session with memory, modules and launches, of which one is under way.
///
/// Everything is asked for as JSON and answered as JSON, by `front_call` (sim/web/README.md lists the requests).
/// Matrices are not passed through JSON: JavaScript reads and writes the module's memory at their addresses.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/inspection.h"
#include "core/machine/provenance.h"
#include "session/simulator.h"

namespace sim::web {

using Json = nlohmann::ordered_json;

class Front {
 public:
  /// Answers one request; what cannot be done is answered with {"error": one sentence}.
  Json answer(const Json& request);

 private:
  struct Under {  ///< way
    Kernel* kernel;
    std::unique_ptr<Launch> launch;
    std::unique_ptr<Run> run;
    std::unique_ptr<Inspection> inspection;
    double seconds = 0;
  };

  Json start(const Json& request);
  Json module(const Json& request);
  Json allocate(const Json& request);
  Json launch(const Json& request);
  Json run(const Json& request);
  Json summary(const Json& request);
  Json events(const Json& request);
  Json trace(const Json& request);
  Json follow(const Json& request);
  Json origins(const Json& request);
  Json origin(const Json& request);
  Json writer(const Json& request);
  Json one_cluster(uint64_t number);
  Json inspect(const Json& request);
  Json step(const Json& request);
  Json back(const Json& request);
  Json registers(const Json& request) const;
  Json state() const;
  Json moved_on(size_t before) const;
  void go_back_to(size_t steps);
  Json refusal(LaunchResult result, const Kernel& kernel) const;

  Simulator& simulator();
  Under& under_way();
  Inspection& inspection() const;

  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Module*> modules_;
  /// Addresses that stand for the host's functions, by the kernels.
  std::map<std::pair<Module*, std::string>, std::unique_ptr<char>> names_;
  std::optional<Under> under_way_;
  std::optional<Provenance::Origins> origins_;  ///< of the launch under way, once they were asked for
  std::vector<size_t> stops_;                   ///< steps done when each request to step came, for the way back
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace sim::web
