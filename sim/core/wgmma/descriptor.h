/// Where wgmma finds an operand in shared memory: the matrix descriptor (PTX ISA 9.7.15.5.1).
///
/// Operands are made of core matrices: 8 lines of 16 bytes. In a K-major operand a line is a row of A (or a column of
/// B), along k; in an MN-major one a line has 16 bytes of one k. The descriptor says how far core matrices are apart,
/// and whether the tile is swizzled as TMA writes it. What follows was compared with 65 descriptors that an H200 was
/// given (recordings/wgmma_layouts_h200.csv.gz).
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct MatrixDescriptor {
  uint32_t start = 0;        ///< shared-memory address, in bytes, as the next two
  uint32_t leading = 0;      ///< "leading dimension byte offset"
  uint32_t stride = 0;       ///< "stride dimension byte offset"
  uint32_t base_offset = 0;  ///< 0 to 7: rows of 128 bytes by which the tile is off a multiple of 8 of them
  uint32_t swizzle = 0;      ///< bytes of the span within which chunks change places: 0, 32, 64 or 128

  explicit MatrixDescriptor(uint64_t bits);

  /// The address of 16 bytes of the operand. K-major: `line` is a row of A or a column of B, `chunk` counts along k.
  /// MN-major: `line` is a k, `chunk` counts along the rows of A or the columns of B.
  uint32_t address(bool k_major, uint32_t line, uint32_t chunk) const;
};

/// "128-byte swizzle", or "no swizzle".
std::string swizzle_name(uint32_t bytes);

}  // namespace sim
