// How a source in steps/NN_idea/also/ adds its variants: published kernels that are built differently from the step's
// own. Everything in such a file is in an anonymous namespace, which ends with its table and
//   const Also added(variants);
#pragma once

#include <vector>

#include "common/device/gemm.h"

/// Adds a file's table of variants to the step's, behind those of kernel.cu; several files in alphabetical order.
class Also {
 public:
  using Table = std::vector<Variant> (*)();

  /// Where a table stands: its first variant is the step's default where it is in front.
  enum class Place { IN_FRONT, BEHIND };
  struct Added {
    Table table;
    Place place;
  };

  /// `file` names the source that the object stands in. It orders the tables, because the objects of different sources
  /// are made in no order that C++ promises.
  explicit Also(Table table, Place place = Place::BEHIND, const char* file = __builtin_FILE());
};

/// Every variant of the step: kernel.cu's and those of also/. The first is the default: kernel.cu's own, unless a file
/// puts its table in front.
std::vector<Variant> all_variants();
