// How a source in steps/NN_idea/also/ adds its variants: published kernels that are built differently from the step's
// own. Everything in such a file is in an anonymous namespace, which ends with its table and
//   const Also added(variants);
#pragma once

#include <vector>

#include "common/device/gemm.h"

/// Adds a table of variants to the step's, behind those of kernel.cu; several files in the order of steps/meson.build.
class Also {
 public:
  using Table = std::vector<Variant> (*)();

  explicit Also(Table table) { tables().push_back(table); }

  /// The tables added so far.
  static std::vector<Table>& tables() {
    static std::vector<Table> all;  // local, so that it is there before the first file's static object is made
    return all;
  }
};

/// Every variant of the step: kernel.cu's, of which the first is the default, then those of also/.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> all = variants();
  for (const Also::Table table : Also::tables())
    for (Variant& variant : table()) all.push_back(std::move(variant));
  return all;
}
