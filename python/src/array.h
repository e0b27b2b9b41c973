// One matrix as it came from Python: where it lies, what it holds, how it is laid out. Nothing of it is copied.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/device/types.h"

namespace nb = nanobind;

/// Where the elements are: the memory of the host, or of a GPU by its number.
struct Place {
  bool on_gpu = false;
  int gpu = 0;

  bool operator==(const Place&) const = default;
  std::string spoken() const { return on_gpu ? "on GPU " + std::to_string(gpu) : "in the memory of the CPU"; }
};

/// A matrix of f32, f16 or bf16. It holds nothing: its owner has to outlive it.
class Array {
 public:
  /// `name` is what messages call it: "a". Throws nb::type_error for other elements, and BadInput for what is no matrix
  /// of at least one element on the host or an NVIDIA GPU.
  Array(const char* name, const nb::dlpack::dltensor& view);

  /// Elements between two rows, where those of one row are neighbours; 0 where there is one row, so that any will do.
  /// Empty where the matrix is laid out otherwise.
  std::optional<int> ld() const { return ld_of(rows, cols, strides_[0], strides_[1]); }
  /// The same of the transposed matrix.
  std::optional<int> ld_transposed() const { return ld_of(cols, rows, strides_[1], strides_[0]); }

  /// "a is 64 x 32, with strides of 32 and 1 elements"
  std::string spoken() const;

  const char* const name;
  void* data;
  DType type;
  Place place;
  int rows, cols;

 private:
  static std::optional<int> ld_of(int rows, int cols, std::int64_t down, std::int64_t along);

  std::int64_t strides_[2];
};

/// Some rows of a matrix in memory, for finding out what they share with others.
struct Extent {
  const void* data;
  std::size_t rows, row_bytes, pitch_bytes;  // pitch: from one row to the next

  const char* begin() const { return static_cast<const char*>(data); }
  std::size_t bytes() const { return (rows - 1) * pitch_bytes + row_bytes; }
};

/// Whether two matrices share a byte. Column ranges of one wider matrix do not.
bool overlap(const Extent& one, const Extent& other);
