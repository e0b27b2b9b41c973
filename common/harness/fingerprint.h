// A number that changes when a matrix does: how the harness notices a kernel that writes where it must not.
#pragma once

#include <cstdint>

#include "common/harness/matrix.h"

/// all: elements and padding. padding: only what lies between cols and ld.
enum class Part { all, padding };

/// A hash of the bits of that part. Equal for equal bits; another value, but for one chance in 2^64, after any change.
std::uint64_t fingerprint(const Matrix& matrix, Part part);
