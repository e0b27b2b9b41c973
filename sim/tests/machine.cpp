#include "machine.h"

namespace sim::testing {

std::string Ran::text() const {
  std::string all;
  for (const Report& report : reports) all += std::string(name(report.kind)) + ": " + report.message + "\n";
  return all;
}

std::string kernel(const std::string& body, int parameters, const std::string& declarations) {
  std::string text = ".version 9.0\n.target sm_80\n.address_size 64\n" + declarations + "\n.visible .entry k(";
  for (int i = 0; i < parameters; ++i) text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  text +=
      ")\n{\n.reg .pred %p<32>;\n.reg .b16 %h<32>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n.reg .f32 %f<32>;\n.reg .f64 "
      "%g<32>;\n";
  int line = 0;
  for (size_t from = 0; from < body.size();) {
    size_t to = body.find('\n', from);
    if (to == std::string::npos) to = body.size();
    text += ".loc 1 " + std::to_string(++line) + " 1\n" + body.substr(from, to - from) + "\n";
    from = to + 1;
  }
  return text + "ret;\n}\n.file 1 \"kernel.cu\"\n";
}

std::string q_list(uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i ? ", %q" : "%q") + std::to_string(first + i);
  return text + "}";
}

Ran run_on(const std::string& text, const LaunchShape& setup, const std::vector<ArrayPlace>& arrays) {
  Ran ran;
  const ptx::Module module = ptx::parse(text);
  ran.program = decode(module, module.kernels.at(0), [](const std::string&) -> uint64_t { return 0; });
  Allocations allocations;
  Reports reports;
  std::vector<std::byte> parameters(ran.program.parameter_bytes);
  size_t at = 0;
  for (const ArrayPlace& array : arrays) {
    allocations.add(array.address, array.bytes, "cudaMalloc");
    if (at + 8 <= parameters.size()) std::memcpy(parameters.data() + at, &array.address, 8);
    at += 8;
  }
  Launch launch{.program = ran.program,
                .grid = setup.grid,
                .block = setup.block,
                .dynamic_shared_bytes = setup.dynamic_shared_bytes,
                .parameters = parameters,
                .allocations = allocations,
                .reports = reports,
                .options = {.watch = true,
                            .max_instructions = setup.max_instructions,
                            .max_seconds = setup.max_seconds,
                            .threads = 1,
                            .seed = setup.seed},
                .cluster = setup.cluster,
                .trace = setup.trace,
                .events = setup.events};
  ran.tallies = sim::run(launch);
  ran.reports = reports.all();
  ran.warnings = reports.warnings();
  ran.given_up = launch.given_up;
  return ran;
}

std::string refusal(const std::string& text) {
  try {
    const ptx::Module module = ptx::parse(text);
    for (const ptx::Function& each : module.kernels)
      decode(module, each, [](const std::string&) -> uint64_t { return 0; });
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

}  // namespace sim::testing
