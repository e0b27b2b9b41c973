#include "common/harness/count.h"

#include <iostream>

#include "common/harness/record.h"
#include "common/harness/record_file.h"
#include "common/harness/report.h"
#include "common/harness/simulated.h"

bool count(const Session& session, const Work& work) {
  const Options& options = session.options;
  const auto& [variant, shape, launch] = work;
  require_memory(verification_bytes(*variant, shape, options.verify));
  Verifier verifier(*variant, shape, options.verify, options.seed);

  simulated::begin();
  Comparison found = verifier.check(InputKind::exact, launch, session.stream);
  std::vector<std::string> reports = simulated::end().reports;
  simulated::begin();  // the counts are of one launch
  if (found.passed) found = verifier.check(InputKind::normal, launch, session.stream);
  const simulated::Outcome counted = simulated::end();
  if (reports.empty()) reports = counted.reports;

  for (const std::string& report : reports) std::cerr << report << "\n";
  const bool fine = report_verdict(std::cerr, work, found, "in the simulator") && reports.empty();
  const char* verdict = !fine ? "WRONG" : options.verify == VerifyMode::off ? "not checked" : "right";
  std::cout << session.step << " " << variant->name << ", m " << shape.m << " n " << shape.n << " k " << shape.k
            << ", in the simulator: " << verdict << "\n";
  if (options.show_matrix) print_corners(std::cout, verifier.matrices());
  if (options.fingerprint) print_fingerprint(std::cout, session.step, work, verifier.matrices());
  if (!fine) return false;
  simulated::print(std::cout, counted);
  if (!options.json.empty()) {
    nlohmann::ordered_json record = identity_record(session.step, *variant, session.is_default(*variant), shape);
    if (launch.swizzle_stride != 0) record["options"] = options_record(launch);
    record["kernels"] = counted.kernels;
    record["counts"] = counted.counts;
    merge_records(options.json, {record});
  }
  return true;
}
