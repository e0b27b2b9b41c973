// How far a product is from the exact one, on five kinds of data.
#pragma once

#include <cstdint>

#include "common/harness/reference.h"

/// normal: deviation 1. uniform: 0 … 1, all positive. spread: (u - ½) e^g with u uniform and g normal. wide: the same
/// with e^(4 g). scaled: normal, rows of A and columns of B times powers of two from 2^-20 to 2^20.
enum class Data { normal, uniform, spread, wide, scaled };
inline constexpr Data EVERY_DATA[] = {Data::normal, Data::uniform, Data::spread, Data::wide, Data::scaled};

/// As records name it.
const char* name_of(Data kind);

/// Fills A and B, which are of floats and without padding.
void fill(const Matrices& matrices, Data kind, std::uint64_t seed);

/// A and B of floats rounded to the types of other matrices, B turned where it is stored n × k there.
void round_to(const Matrices& matrices, const Matrices& rounded, bool b_transposed);

/// A times B in FP64, and |A| times |B|; B as n × k where it is transposed.
Reference exact(const Matrices& matrices, const Shape& shape, bool b_transposed = false);

/// |c - exact| / (|A||B|) over all elements: root of the mean square, and the largest. relative: of the whole matrix,
/// ||C - exact|| / ||exact||. Infinite where an element is beyond C's type.
struct Error {
  double rms, largest, relative;
};
Error error_of(const Matrix& c, const Reference& reference);
