// How a source in steps/NN_idea/also/ adds its variants: published kernels that are built differently from the step's
// own. Everything in such a file is in an anonymous namespace, which ends with its table and
//   const Also added(variants);
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/device/gemm.h"

/// Adds a file's table of variants to the step's, behind those of kernel.cu; several files in alphabetical order.
class Also {
 public:
  using Table = std::vector<Variant> (*)();

  /// `file` names the source that the object stands in. It orders the tables, because the objects of different sources
  /// are made in no order that C++ promises.
  explicit Also(Table table, const char* file = __builtin_FILE()) { tables().emplace(file, table); }

  /// The tables added so far, by the names of their files.
  static std::multimap<std::string, Table>& tables() {
    static std::multimap<std::string, Table> all;  // local, so that it is there before the first file's object is made
    return all;
  }
};

/// Every variant of the step: kernel.cu's, of which the first is the default, then those of also/.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> all = variants();
  for (const auto& [file, table] : Also::tables())
    for (Variant& variant : table()) all.push_back(std::move(variant));
  return all;
}
