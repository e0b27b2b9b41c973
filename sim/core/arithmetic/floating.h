/// What the floating-point instructions of single and double precision share.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/types.h"

namespace sim {

/// A NaN that an operation makes is the one the hardware makes.
inline f32 canonical(f32 x) { return x == x ? x : std::bit_cast<f32>(0x7fffffffu); }
inline f64 canonical(f64 x) { return x == x ? x : std::bit_cast<f64>(0x7fffffffffffffffull); }

/// `.ftz`: a subnormal becomes a zero of its sign.
inline f32 flushed(f32 x) { return std::fabs(x) < std::numeric_limits<f32>::min() ? std::copysign(0.0f, x) : x; }

/// `.sat`: to [0, 1], NaN to 0.
inline f32 saturated(f32 x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

}  // namespace sim
