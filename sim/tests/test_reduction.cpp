// What cp.reduce.async.bulk does to each element, on every type and operation that it has.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "core/asynchronous/reduction.h"

namespace sim::test_reduction {
namespace {

// The memory's elements after the operands were combined into them.
template <class T>
std::vector<T> reduced(Reduce operation, TensorType type, std::vector<T> memory, const std::vector<T>& operands) {
  const Reduction reduction = reduction_of(operation, type);
  EXPECT_NE(reduction, nullptr);
  if (!reduction) return {};
  reduction(reinterpret_cast<std::byte*>(memory.data()), reinterpret_cast<const std::byte*>(operands.data()),
            static_cast<uint32_t>(memory.size() * sizeof(T)));
  return memory;
}

TEST(Reduction, OfWholeNumbers) {
  using U = std::vector<uint32_t>;
  using S = std::vector<int32_t>;
  using L = std::vector<uint64_t>;
  EXPECT_EQ(reduced(Reduce::add, TensorType::u32, U{1, ~0u}, U{2, 2}), (U{3, 1}));
  EXPECT_EQ(reduced(Reduce::add, TensorType::s32, S{1, std::numeric_limits<int32_t>::max()}, S{-2, 1}),
            (S{-1, std::numeric_limits<int32_t>::min()}));
  EXPECT_EQ(reduced(Reduce::add, TensorType::u64, L{~0ull}, L{3}), (L{2}));
  EXPECT_EQ(reduced(Reduce::min, TensorType::u32, U{1, ~0u}, U{~0u, 5}), (U{1, 5}));
  EXPECT_EQ(reduced(Reduce::min, TensorType::s32, S{1, -1}, S{-1, 5}), (S{-1, -1}));
  EXPECT_EQ(reduced(Reduce::max, TensorType::s64, std::vector<int64_t>{-3}, {-7}), (std::vector<int64_t>{-3}));
  EXPECT_EQ(reduced(Reduce::max, TensorType::u64, L{3}, L{~0ull}), (L{~0ull}));
  EXPECT_EQ(reduced(Reduce::increase, TensorType::u32, U{0, 4, 5, 9}, U{5, 5, 5, 5}), (U{1, 5, 0, 0}));
  EXPECT_EQ(reduced(Reduce::decrease, TensorType::u32, U{0, 4, 5, 9}, U{5, 5, 5, 5}), (U{5, 3, 4, 5}));
  EXPECT_EQ(reduced(Reduce::bit_and, TensorType::u32, U{12}, U{10}), (U{8}));
  EXPECT_EQ(reduced(Reduce::bit_or, TensorType::u64, L{12}, L{10}), (L{14}));
  EXPECT_EQ(reduced(Reduce::bit_xor, TensorType::u32, U{12}, U{10}), (U{6}));
}

TEST(Reduction, OfFloatingPointNumbers) {
  using F = std::vector<float>;
  using H = std::vector<uint16_t>;
  EXPECT_EQ(reduced(Reduce::add, TensorType::f32, F{1, 0.5f}, F{2, 0.25f}), (F{3, 0.75f}));
  EXPECT_EQ(reduced(Reduce::add, TensorType::f64, std::vector<double>{1}, {0x1p-60}), (std::vector<double>{1}));
  // Rounded once, to nearest even: 1 + 2^-11 is a tie, 1 + 2^-10 is the next number; subnormals stay.
  EXPECT_EQ(reduced(Reduce::add, TensorType::f16, H{0x3c00, 0x3c00, 0x0001}, H{0x1000, 0x1400, 0x0002}),
            (H{0x3c00, 0x3c01, 0x0003}));
  EXPECT_EQ(reduced(Reduce::add, TensorType::bf16, H{0x3f80, 0x3f80}, H{0x3b80, 0x3f80}), (H{0x3f80, 0x4000}));
  // A number rather than NaN; -0 is below +0.
  EXPECT_EQ(reduced(Reduce::min, TensorType::f16, H{0x3c00, 0x7fff, 0x3c00, 0x0000, 0x8000},
                    H{0xbc00, 0x3c00, 0x7fff, 0x8000, 0x0000}),
            (H{0xbc00, 0x3c00, 0x3c00, 0x8000, 0x8000}));
  EXPECT_EQ(reduced(Reduce::max, TensorType::bf16, H{0x3f80, 0x8000, 0x7fff}, H{0xbf80, 0x0000, 0x7fff}),
            (H{0x3f80, 0x0000, 0x7fff}));
}

TEST(Reduction, WhatTheHardwareLacks) {
  EXPECT_EQ(reduction_of(Reduce::add, TensorType::u8), nullptr);
  EXPECT_EQ(reduction_of(Reduce::add, TensorType::s64), nullptr);
  EXPECT_EQ(reduction_of(Reduce::min, TensorType::f32), nullptr);
  EXPECT_EQ(reduction_of(Reduce::increase, TensorType::s32), nullptr);
  EXPECT_EQ(reduction_of(Reduce::bit_and, TensorType::f16), nullptr);
}

}  // namespace
}  // namespace sim::test_reduction
