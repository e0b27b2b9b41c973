// Holds the theorem and the promise of step 33 against FP64 on eleven kinds of matrices, and prints what the guard has
// chosen. Exit code 1 where one element breaks either.

#include <cmath>
#include <cstdio>
#include <optional>

#include "common/device/also.h"
#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/session.h"
#include "common/harness/simulated.h"
#include "lab/guard/check.h"
#include "lab/program.h"

namespace {

using nlohmann::ordered_json;

// As the step's table has it: the power of two in its name's note.
struct Asked {
  const char* name;
  double tau;
};
constexpr const char* STEP = "33_guarded";
constexpr Asked EVERY_VARIANT[] = {{"guarded", 0x1p-16}, {"strict", 0x1p-20}};

const Variant& named(const std::vector<Variant>& all, const std::string& name) {
  for (const Variant& variant : all)
    if (variant.name == name) return variant;
  throw BadInput("the step has no variant called " + name);
}

// What a matrix product of this size has found for each kind and seed. Returns how many elements broke a bound.
unsigned long long run_size(const Shape& asked, int seeds, int& products, std::vector<ordered_json>& records) {
  const std::vector<Variant> variants = all_variants();
  const Shape shape = completed(asked, {}, variants.front());
  Matrices matrices(variants.front(), shape);
  const DeviceBuffer workspace(variants.front().workspace_bytes(shape.m, shape.n, shape.k));
  LaunchOptions options;
  options.workspace = workspace.get();
  unsigned long long broken = 0;
  for (const Kind kind : EVERY_KIND)
    for (const Asked& variant : EVERY_VARIANT) {
      Findings worst;
      for (int seed = 1; seed <= seeds; ++seed, ++products) {
        fill(matrices, kind, seed);
        matrices.c.poison();
        named(variants, variant.name).launch(matrices.problem(shape), options, nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
        const Findings found = check(matrices, shape, workspace.get(), variant.tau);
        worst.three += found.three / seeds, worst.four += found.four / seeds;
        worst.largest = std::fmax(worst.largest, found.largest);
        worst.of_theorem = std::fmax(worst.of_theorem, found.of_theorem);
        worst.of_promise = std::fmax(worst.of_promise, found.of_promise);
        worst.bound_three = std::fmax(worst.bound_three, found.bound_three);
        worst.bound_four = std::fmax(worst.bound_four, found.bound_four);
        broken += found.broken;
      }
      std::printf(
          "%5d %5d %5d  %-8s  %-8s  three %4.0f %%  four %4.0f %%  E/S 2^%6.1f 2^%6.1f  error/S 2^%6.1f  "
          "of the theorem %5.3f  of the promise %5.3f\n",
          shape.m, shape.n, shape.k, name_of(kind), variant.name, 100 * worst.three, 100 * worst.four,
          std::log2(worst.bound_three), std::log2(worst.bound_four), std::log2(worst.largest), worst.of_theorem,
          worst.of_promise);
      std::fflush(stdout);
      ordered_json record = identity_record(STEP, named(variants, variant.name), false, shape);
      record.erase("default");
      record["data"] = name_of(kind);
      record["products"] = seeds;
      record["three"] = worst.three;
      record["four"] = worst.four;
      record["bound_three"] = worst.bound_three;
      record["bound_four"] = worst.bound_four;
      record["largest"] = worst.largest;
      record["of_theorem"] = worst.of_theorem;
      record["of_promise"] = worst.of_promise;
      records.push_back(record);
    }
  return broken;
}

int run(const std::vector<int>& sizes, const std::vector<int>& shape, int seeds, const std::string& file) {
  if (!file.empty() && simulated::active())
    throw BadInput("--json: what the simulator computes is no measurement; leave it out");
  if (!file.empty()) require_writable(file);
  if (!simulated::active() && !gpu_present()) {
    std::puts("skipped: no GPU was found");
    return EXIT_SKIPPED;
  }
  unsigned long long broken = 0;
  int products = 0;
  std::vector<ordered_json> records;
  if (!shape.empty()) broken += run_size({shape[0], shape[1], shape[2]}, seeds, products, records);
  if (shape.empty())
    for (const int size : sizes) broken += run_size({size, size, size}, seeds, products, records);
  std::printf("%d products, %llu elements beyond the theorem or the promise\n", products, broken);
  if (broken != 0) return EXIT_FAILED;
  if (file.empty()) return 0;
  for (ordered_json& record : records) add_machine(record, std::nullopt, current_gpu());
  merge_records(file, records);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {1024}, shape;
  int seeds = 1;
  std::string file;
  CLI::App app("The theorem and the promise of step 33 on eleven kinds of matrices.");
  app.add_option("--size", sizes, "m, n and k")->delimiter(',')->capture_default_str()->check(CLI::Range(1, 8192));
  app.add_option("--shape", shape, "m,n,k instead")->delimiter(',')->expected(3);
  app.add_option("--seeds", seeds, "products per kind and variant")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--json", file, "merge the records into this JSON Lines file");
  return run_program("guard", app, argc, argv, [&] { return run(sizes, shape, seeds, file); });
}
