#include "python/src/choice.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "common/harness/errors.h"
#include "common/harness/gpu.h"

namespace {

using std::to_string;

constexpr std::size_t MOST_REMEMBERED = 4096;

// TF32 is stored as float.
bool holds(DType stored, const Variant& variant) {
  return variant.ab == stored || (variant.ab == DType::tf32 && stored == DType::f32);
}

std::string spoken_types(const StepModule& module) {
  std::string all;
  for (const Variant& variant : module.variants) {
    const std::string one = std::string(name_of(variant.ab)) + (variant.b_transposed ? " TN" : " NN");
    if (variant.left_out.empty() && (", " + all + ",").find(", " + one + ",") == std::string::npos)
      all += (all.empty() ? "" : ", ") + one;
  }
  return all;
}

bool runs_here(const Step& step, const Candidate& given) { return runs_on(step.module().arch, given.capability); }

void require_runs_here(const Step& step, const Candidate& given) {
  if (!runs_here(step, given))
    throw BadInput("step " + step.name + " needs " + needed_gpu(step.module().arch) + ", and this one has " +
                   to_string(given.capability / 10) + "." + to_string(given.capability % 10) +
                   "; name another step, or None for the fastest that runs here");
}

// A variant that is told to keep leading dimensions at multiples moves as many elements at once.
void require_aligned(const Variant& variant, const char* name, std::uintptr_t address, std::size_t bytes) {
  if (address % bytes == 0) return;
  char text[32];
  std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(address));
  throw BadInput("variant " + std::string(variant.name) + " moves " + to_string(bytes) + " bytes of " + name +
                 " at once, so that it has to start at a multiple of " + to_string(bytes) + " bytes, not at " + text +
                 "; pass a copy of it");
}

// What is wrong with how B is stored, for a variant or for all of a step or of the ladder.
[[noreturn]] void refuse_layout(const std::string& who, const Candidate& given) {
  if (given.ldb_tn && !given.ldb_nn)
    throw BadInput(who + " takes no b that is stored transposed (TN); pass b.contiguous(), or a copy in C order");
  throw BadInput(who +
                 " takes b only where it is stored transposed (TN): pass b.T.contiguous().T, or a transposed copy");
}

// The shape with leading dimensions, or refused: as a shape, or for the shared memory that the variant takes.
Shape fitted(const Variant& variant, const Candidate& given) {
  if (variant.shared_bytes > given.shared_bytes)
    throw BadInput("variant " + std::string(variant.name) + " takes " + to_string(variant.shared_bytes) +
                   " bytes of shared memory per block, and this GPU has " + to_string(given.shared_bytes) +
                   "; name another variant, or None for the first that fits");
  const int ldb = variant.b_transposed ? *given.ldb_tn : *given.ldb_nn;
  const Shape shape = completed(given.shape, {*given.lda, ldb, *given.ldc}, variant);
  require_accepted(variant, shape);
  require_aligned(variant, "a", given.a, variant.multiple_lda * bytes_of(variant.ab));
  require_aligned(variant, "b", given.b, variant.multiple_ldb * bytes_of(variant.ab));
  require_aligned(variant, "out", given.c, variant.multiple_ldc * bytes_of(variant.out));
  return shape;
}

bool laid_out(const Variant& variant, const Candidate& given) {
  return variant.b_transposed ? given.ldb_tn.has_value() : given.ldb_nn.has_value();
}

Choice named(const Step& step, const std::string& name, const Candidate& given) {
  const auto& all = step.module().variants;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& one) { return one.name == name; });
  if (found == all.end()) {
    std::string names;
    for (const Variant& variant : all)
      if (variant.left_out.empty()) names += " " + std::string(variant.name);
    throw BadInput("no variant is called " + name + "; step " + step.name + " has:" + names);
  }
  if (!found->left_out.empty())
    throw BadInput("variant " + name + " leaves out " + std::string(found->left_out) +
                   ": its result is wrong on purpose, so that it can only be timed; use build/steps/" + step.name);
  if (!holds(given.type, *found))
    throw nb::type_error(("variant " + name + " of step " + step.name + " multiplies " + name_of(found->ab) + ", not " +
                          name_of(given.type) + "; convert the arrays, or choose another variant")
                             .c_str());
  if (!laid_out(*found, given)) refuse_layout("variant " + name, given);
  return {&step, &*found, fitted(*found, given)};
}

// The step's first variant that takes the product; `precise`: of those that round nothing to TF32, sum in FP32 and ask
// for no memory of their own.
// Notes the first refusal. None where one refuses K for its sums: those that take it anyway are less exact.
std::optional<Choice> first_of(const Step& step, const Candidate& given, bool precise,
                               std::optional<BadInput>& refusal) {
  for (const Variant& variant : step.module().variants) {
    const bool rough = variant.acc != DType::f32 || variant.ab == DType::tf32 ||
                       variant.workspace_bytes(given.shape.m, given.shape.n, given.shape.k) > 0;
    if (!variant.left_out.empty() || !holds(given.type, variant) || !laid_out(variant, given) || (precise && rough))
      continue;
    try {
      return Choice{&step, &variant, fitted(variant, given)};
    } catch (const BadInput& why) {
      if (!refusal) refusal = why;
      if (given.shape.k > variant.most_k) return std::nullopt;
    }
  }
  return std::nullopt;
}

Choice first_of_step(const Step& step, const Candidate& given) {
  std::optional<BadInput> refusal;
  if (const auto choice = first_of(step, given, false, refusal)) return *choice;
  if (refusal) throw *refusal;
  const auto& all = step.module().variants;
  if (std::any_of(all.begin(), all.end(), [&](const Variant& one) { return holds(given.type, one); }))
    refuse_layout("for " + std::string(name_of(given.type)) + ", step " + step.name, given);
  throw nb::type_error(("step " + step.name + " multiplies " + spoken_types(step.module()) + ", not " +
                        name_of(given.type) + "; convert the arrays, or name another step")
                           .c_str());
}

// The newest step is the fastest of its types.
Choice newest(const Steps& steps, const Candidate& given) {
  std::optional<BadInput> refusal;
  for (auto step = steps.all().rbegin(); step != steps.all().rend(); ++step)
    if (runs_here(*step, given))
      if (const auto choice = first_of(*step, given, true, refusal)) return *choice;
  if (refusal)
    throw BadInput(std::string("no step that sums in FP32 takes this product; the newest says: ") + refusal->what());
  refuse_layout("for " + std::string(name_of(given.type)) + ", every step that runs here and sums in FP32", given);
}

// Whatever a choice depends on. Of an address, only to what it is aligned.
using Key = std::array<std::intptr_t, 14>;

Key key_of(const Step* step, const Candidate& given) {
  const auto aligned = [](std::uintptr_t address) { return static_cast<std::intptr_t>(address % 64); };
  return {reinterpret_cast<std::intptr_t>(step),
          static_cast<int>(given.type),
          given.shape.m,
          given.shape.n,
          given.shape.k,
          given.lda.value_or(-1),
          given.ldb_nn.value_or(-1),
          given.ldb_tn.value_or(-1),
          given.ldc.value_or(-1),
          aligned(given.a),
          aligned(given.b),
          aligned(given.c),
          given.capability,
          given.shared_bytes};
}

}  // namespace

Choice chosen(const Steps& steps, const Asked& asked, const Candidate& given) {
  if (asked.step != nullptr) require_runs_here(*asked.step, given);
  if (!asked.variant.empty()) {
    if (asked.step == nullptr) throw BadInput("variant " + asked.variant + " needs its step: step=…, variant=…");
    return named(*asked.step, asked.variant, given);
  }
  // Refusals on the way to a choice take microseconds; the next product of this kind does without.
  static std::map<Key, Choice> remembered;
  const Key key = key_of(asked.step, given);
  const auto found = remembered.find(key);
  if (found == remembered.end()) {
    const Choice choice = asked.step != nullptr ? first_of_step(*asked.step, given) : newest(steps, given);
    if (remembered.size() >= MOST_REMEMBERED) remembered.clear();
    remembered.emplace(key, choice);
    return choice;
  }
  return found->second;
}
