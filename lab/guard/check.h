// The theorem and the promise of step 33, held against FP64: bounds computed again on the host, in double and from the
// definition, not with what the step has computed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/matrix.h"

/// What A and B are filled with. The first five are those of lab/errors. relu: normal, negative elements 0. sparse: one
/// normal element of 64, the others 0. outliers: normal, one k of 64 times 2^12 in A. halves: normal, the second half
/// of A's k and the first half of B's times 2^-20. worst: every element has the same digits, whose errors all add up.
/// extreme: normal, row i of A and column i of B times a power of two from 2^-149 to 2^126, every 16th of them 0.
enum class Kind { normal, uniform, spread, wide, scaled, relu, sparse, outliers, halves, worst, extreme };
inline constexpr Kind EVERY_KIND[] = {Kind::normal, Kind::uniform,  Kind::spread, Kind::wide,  Kind::scaled, Kind::relu,
                                      Kind::sparse, Kind::outliers, Kind::halves, Kind::worst, Kind::extreme};
const char* name_of(Kind kind);

/// Fills A and B, which are of floats and without padding.
void fill(const Matrices& matrices, Kind kind, std::uint64_t seed);

/// What was found of one product. Shares are of C's elements; sizes S are |ai| |bj| / K.
struct Findings {
  double three = 0, four = 0;     // shares that digits have computed; FP32 the rest
  double largest = 0;             // |c - exact| / S, of all elements
  double of_theorem = 0;          // the largest |c - exact| / (E + 2^-24 |c| + 2^-150), where digits have computed c
  double of_promise = 0;          // the largest E / (tau S), where digits have computed c
  double bound_three = 0;         // the largest E / S of three digits, whatever has computed c
  double bound_four = 0;          // the same of four
  unsigned long long broken = 0;  // elements beyond the theorem, or digits where the promise does not hold
};

/// Compares C, which the step has computed with this workspace, with A times B.
Findings check(const Matrices& matrices, const Shape& shape, void* workspace, double tau);
