// One instruction on 32 lanes' operands, by a kernel written around it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "machine.h"

namespace sim::testing {

template <class T>
using Warpful = std::array<T, 32>;

// The opcodes that were evaluated, so that a test can tell which of the table were not.
inline std::set<std::string>& evaluated() {
  static std::set<std::string> opcodes;
  return opcodes;
}

template <class T>
std::string bits() {
  return std::to_string(8 * sizeof(T));
}

template <class T>
std::string register_of(int number) {
  if constexpr (std::is_same_v<T, bool>) return "%p" + std::to_string(number);
  return (sizeof(T) == 2 ? "%h" : sizeof(T) == 4 ? "%r" : "%d") + std::to_string(number);
}

// Runs `opcode` on as many operands as the vectors hold, a multiple of 32; bool stands for a predicate, and lies in
// memory as 32 bits.
template <class Result, class... Operands>
std::vector<Result> evaluate_all(const std::string& opcode, const std::vector<Operands>&... operands) {
  evaluated().insert(opcode);
  std::string body = "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r0, %r1, 32, %r0;\n";
  std::string list = register_of<Result>(10);
  int number = 0;
  size_t count = 0;
  const auto read = [&]<class T>(const std::vector<T>& values) {
    count = values.size();
    const std::string n = std::to_string(++number), at = "%d" + std::to_string(20 + number);
    constexpr bool truth = std::is_same_v<T, bool>;
    body += "ld.param.u64 " + at + ", [p" + n + "];\nmad.wide.u32 " + at + ", %r0, " +
            std::to_string(truth ? 4 : sizeof(T)) + ", " + at + ";\n";
    body += "ld.global.b" + (truth ? "32" : bits<T>()) + " " +
            (truth ? "%r" + std::to_string(10 + number) : register_of<T>(10 + number)) + ", [" + at + "];\n";
    if (truth) body += "setp.ne.u32 %p" + std::to_string(10 + number) + ", %r" + std::to_string(10 + number) + ", 0;\n";
    list += ", " + register_of<T>(10 + number);
  };
  (read(operands), ...);
  constexpr bool truth = std::is_same_v<Result, bool>;
  body += opcode + " " + list + ";\n";
  if (truth) body += "selp.u32 %r10, 1, 0, %p10;\n";
  body +=
      "ld.param.u64 %d20, [p0];\nmad.wide.u32 %d20, %r0, " + std::to_string(truth ? 4 : sizeof(Result)) + ", %d20;\n";
  body += "st.global.b" + (truth ? "32" : bits<Result>()) + " [%d20], " + (truth ? "%r10" : register_of<Result>(10)) +
          ";\n";

  std::vector<std::conditional_t<truth, u32, Result>> out(count);
  const auto stored = [](const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return std::vector<std::conditional_t<std::is_same_v<T, bool>, u32, T>>(values.begin(), values.end());
  };
  auto inputs = std::make_tuple(stored(operands)...);
  const LaunchShape shape{.grid = {static_cast<uint32_t>(count / 32), 1, 1}};
  const Ran ran = std::apply(
      [&](auto&... each) { return run(kernel(body, 1 + sizeof...(operands)), shape, out, each...); }, inputs);
  EXPECT_TRUE(ran.reports.empty()) << ran.text();
  return std::vector<Result>(out.begin(), out.end());
}

// The same with one warp's operands.
template <class Result, class... Operands>
Warpful<Result> evaluate(const std::string& opcode, const Warpful<Operands>&... operands) {
  const auto all = evaluate_all<Result>(opcode, std::vector<Operands>(operands.begin(), operands.end())...);
  Warpful<Result> result;
  std::copy(all.begin(), all.end(), result.begin());
  return result;
}

// Values at which arithmetic goes wrong, then others that repeat from run to run.
template <class T>
std::vector<T> telling_values() {
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    values = {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    using limits = std::numeric_limits<T>;
    values = {T(0),
              -T(0),
              T(1),
              T(-1),
              T(0.5),
              T(1.5),
              T(2.5),
              T(-2.5),
              T(3),
              T(1) / 3,
              limits::min(),
              -limits::min(),
              limits::denorm_min(),
              -limits::denorm_min(),
              limits::min() / 3,
              limits::max(),
              limits::lowest(),
              limits::infinity(),
              -limits::infinity(),
              limits::quiet_NaN(),
              limits::epsilon(),
              T(2147483648.0),
              T(-2147483649.0),
              T(4294967296.0),
              T(1e19),
              T(-1e19),
              T(255.5),
              T(65535.5)};
    uint64_t state = 1;
    for (int i = 0; i < 24; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      values.push_back(std::ldexp(T(static_cast<int64_t>(state) >> 11), static_cast<int>(state >> 5 & 63) - 84));
    }
  } else {
    using limits = std::numeric_limits<T>;
    values = {0,
              1,
              2,
              3,
              5,
              7,
              8,
              15,
              16,
              31,
              32,
              33,
              63,
              64,
              static_cast<T>(-1),
              static_cast<T>(-2),
              limits::min(),
              limits::max(),
              static_cast<T>(limits::max() - 1),
              static_cast<T>(limits::min() + 1),
              static_cast<T>(limits::max() / 2 + 1)};
    uint64_t state = 2;
    for (int i = 0; i < 24; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      values.push_back(static_cast<T>(state >> 17 >> (i % 5 * 9)));
    }
  }
  return values;
}

template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Compares `opcode` with what `expected` computes on the host, bit for bit, on `batches` × 32 combinations of telling
// values. A NaN is expected to be the one that the hardware makes, unless the instruction moves bits only.
template <class Result, class... Operands, class Expected>
void expect_like(const std::string& opcode, Expected expected, int batches = 24) {
  const std::tuple<std::vector<Operands>...> values{telling_values<Operands>()...};
  std::tuple<std::vector<Operands>...> lanes;
  uint64_t state = 3;
  for (int lane = 0; lane < 32 * batches; ++lane) {
    [&]<size_t... i>(std::index_sequence<i...>) {
      (([&] {
         state = state * 6364136223846793005u + 1442695040888963407u;
         const auto& choice = std::get<i>(values);
         std::get<i>(lanes).push_back(choice[(state >> 33) % choice.size()]);
       }()),
       ...);
    }(std::index_sequence_for<Operands...>{});
  }
  const auto results = std::apply([&](const auto&... each) { return evaluate_all<Result>(opcode, each...); }, lanes);
  for (size_t lane = 0; lane < results.size(); ++lane) {
    const Result got = results[lane];
    const Result wanted =
        std::apply([&](const auto&... each) { return static_cast<Result>(expected(each[lane]...)); }, lanes);
    std::string shown;
    std::apply([&](const auto&... each) { ((shown += std::to_string(each[lane]) + " "), ...); }, lanes);
    ASSERT_TRUE(same(got, wanted)) << opcode << " of " << shown << "gave " << +got << ", not " << +wanted;
  }
}

}  // namespace sim::testing
