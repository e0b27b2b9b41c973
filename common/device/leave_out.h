// What a kernel may leave out on purpose, to show what it costs: wrong results, timed and never verified.
#pragma once

/// Bits of a kernel's last template parameter, SKIP; 0 is the kernel as it should be. docs/bottlenecks tells how to
/// read what they show. A kernel tests them by `if constexpr (!(SKIP & SKIP_COPY_A))`.
constexpr unsigned SKIP_COPY_A = 1u << 0;  // A's slices never come from global memory
constexpr unsigned SKIP_COPY_B = 1u << 1;  // nor do B's
constexpr unsigned SKIP_STORE_CONFLICTS = 1u
                                          << 2;  // the epilogue's addresses in shared memory: no conflicts, but wrong
constexpr unsigned SKIP_LOAD_AND_MMA = 1u << 3;  // no fragment is loaded, no product computed
constexpr unsigned SKIP_MOVMATRIX = 1u << 4;     // fragments that have to be transposed stay as they are
constexpr unsigned SKIP_STORE_C = 1u << 5;       // C is not written
