#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sim::testing {
namespace {

std::string register_of(uint32_t bytes, size_t number) {
  return (bytes == 0 ? "%p" : bytes == 2 ? "%h" : bytes == 4 ? "%r" : "%d") + std::to_string(number);
}

// Predicates lie in memory as 32 bits.
uint32_t stored_bytes(uint32_t bytes) { return bytes == 0 ? 4 : bytes; }

std::vector<std::byte> stored(const Column& column) {
  const uint32_t bytes = stored_bytes(column.bytes);
  std::vector<std::byte> memory(column.bits.size() * bytes);
  for (size_t i = 0; i < column.bits.size(); ++i) std::memcpy(memory.data() + i * bytes, &column.bits[i], bytes);
  return memory;
}

}  // namespace

std::set<std::string>& evaluated() {
  static std::set<std::string> opcodes;
  return opcodes;
}

std::vector<uint64_t> evaluate_bits(const std::string& opcode, uint32_t result_bytes,
                                    const std::vector<Column>& operands) {
  evaluated().insert(opcode);
  const size_t count = operands.at(0).bits.size();
  std::vector<std::vector<std::byte>> memory{std::vector<std::byte>(count * stored_bytes(result_bytes))};
  std::string body = "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r0, %r1, 32, %r0;\n";
  std::string list = register_of(result_bytes, 10);
  for (size_t i = 0; i < operands.size(); ++i) {
    const uint32_t bytes = operands[i].bytes;
    const std::string n = std::to_string(i + 1), at = "%d" + std::to_string(21 + i);
    const std::string raw = register_of(stored_bytes(bytes), 11 + i);
    body += "ld.param.u64 " + at + ", [p" + n + "];\nmad.wide.u32 " + at + ", %r0, " +
            std::to_string(stored_bytes(bytes)) + ", " + at + ";\n";
    body += "ld.global.b" + std::to_string(8 * stored_bytes(bytes)) + " " + raw + ", [" + at + "];\n";
    if (bytes == 0) body += "setp.ne.u32 " + register_of(0, 11 + i) + ", " + raw + ", 0;\n";
    list += ", " + register_of(bytes, 11 + i);
    memory.push_back(stored(operands[i]));
  }
  body += opcode + " " + list + ";\n";
  if (result_bytes == 0) body += "selp.u32 %r10, 1, 0, %p10;\n";
  const uint32_t out_bytes = stored_bytes(result_bytes);
  body += "ld.param.u64 %d20, [p0];\nmad.wide.u32 %d20, %r0, " + std::to_string(out_bytes) + ", %d20;\n";
  body += "st.global.b" + std::to_string(8 * out_bytes) + " [%d20], " + register_of(out_bytes, 10) + ";\n";

  std::vector<ArrayPlace> places;
  for (const auto& each : memory) places.push_back({reinterpret_cast<uint64_t>(each.data()), each.size()});
  const LaunchShape shape{.grid = {static_cast<uint32_t>(count / 32), 1, 1}};
  const Ran ran = run_on(kernel(body, static_cast<int>(places.size())), shape, places);
  EXPECT_TRUE(ran.reports.empty()) << ran.text();
  std::vector<uint64_t> results(count);
  for (size_t i = 0; i < count; ++i) std::memcpy(&results[i], memory[0].data() + i * out_bytes, out_bytes);
  return results;
}

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

template std::vector<bool> telling_values<bool>();
template std::vector<u16> telling_values<u16>();
template std::vector<s16> telling_values<s16>();
template std::vector<u32> telling_values<u32>();
template std::vector<s32> telling_values<s32>();
template std::vector<u64> telling_values<u64>();
template std::vector<s64> telling_values<s64>();
template std::vector<f32> telling_values<f32>();
template std::vector<f64> telling_values<f64>();

void expect_bits(const std::string& opcode, const ValueType& result, const std::vector<ValueType>& operands,
                 const std::function<uint64_t(const uint64_t*)>& expected, int batches) {
  std::vector<std::vector<uint64_t>> choices;
  std::vector<Column> columns;
  for (const ValueType& type : operands) {
    choices.push_back(type.telling());
    columns.push_back({type.bytes, {}});
  }
  uint64_t state = 3;
  for (int lane = 0; lane < 32 * batches; ++lane) {
    for (size_t i = 0; i < columns.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      columns[i].bits.push_back(choices[i][(state >> 33) % choices[i].size()]);
    }
  }
  const std::vector<uint64_t> results = evaluate_bits(opcode, result.bytes, columns);
  std::vector<uint64_t> values(columns.size());
  for (size_t lane = 0; lane < results.size(); ++lane) {
    std::string shown;
    for (size_t i = 0; i < columns.size(); ++i) values[i] = columns[i].bits[lane];
    const uint64_t wanted = expected(values.data());
    if (results[lane] == wanted) continue;
    for (size_t i = 0; i < columns.size(); ++i) shown += operands[i].shown(values[i]) + " ";
    FAIL() << opcode << " of " << shown << "gave " << result.shown(results[lane]) << ", not " << result.shown(wanted);
  }
}

}  // namespace sim::testing
