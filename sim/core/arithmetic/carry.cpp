/// Addition, subtraction and products of numbers longer than a register (PTX ISA 9.7.2): `.cc` leaves a carry, addc,
/// subc and madc take it. PTX has one carry flag for each thread: here a predicate.
#include <string>
#include <type_traits>

#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

enum class Kind { add, subtract, multiply_low, multiply_high };

struct WithCarry {
  Operands registers;  ///< result, then the operands
  uint32_t carry;
};

template <class T>
T part_of_product(Kind kind, T a, T b) {
  using Wide = unsigned __int128;
  if constexpr (std::is_signed_v<T>) {
    const auto product = static_cast<__int128>(a) * b;
    return static_cast<T>(kind == Kind::multiply_low ? product : product >> 8 * sizeof(T));
  } else {
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<T>(kind == Kind::multiply_low ? product : product >> 8 * sizeof(T));
  }
}

/// The carry of a subtraction is its borrow.
template <class T, Kind kind, bool takes, bool leaves>
void with_carry(Warp& warp, const WithCarry& operands) {
  using U = std::make_unsigned_t<T>;
  T* const to = warp.lanes<T>(operands.registers.at[0]);
  const T* const a = warp.lanes<T>(operands.registers.at[1]);
  const T* const b = warp.lanes<T>(operands.registers.at[2]);
  constexpr bool multiplies = kind == Kind::multiply_low || kind == Kind::multiply_high;
  const T* const c = multiplies ? warp.lanes<T>(operands.registers.at[3]) : nullptr;
  u32& carry = warp.predicate(operands.carry);
  for_lanes(warp.exec, [&](uint32_t lane) {
    const U x = static_cast<U>(multiplies ? part_of_product(kind, a[lane], b[lane]) : a[lane]);
    const U y = static_cast<U>(multiplies ? c[lane] : b[lane]);
    const U in = takes ? carry >> lane & 1 : 0;
    const auto wide = kind == Kind::subtract ? static_cast<unsigned __int128>(x) - y - in
                                             : static_cast<unsigned __int128>(x) + y + in;
    to[lane] = static_cast<T>(wide);
    if (leaves) carry = (carry & ~(1u << lane)) | static_cast<u32>(wide >> 8 * sizeof(T) & 1) << lane;
  });
}

template <class T, Kind kind>
void build(Builder& builder) {
  constexpr size_t count = kind == Kind::add || kind == Kind::subtract ? 3 : 4;
  if (builder.operands().size() != count) builder.refuse("a wrong number of operands");
  constexpr auto width = static_cast<ptx::Width>(sizeof(T));
  auto& made = builder.made<WithCarry>();
  made.registers.at[0] = builder.destination(builder.operands()[0], width);
  for (size_t i = 1; i < count; ++i) made.registers.at[i] = builder.source(builder.operands()[i], width);
  made.carry = builder.carry();
}

/// `plain` leaves a carry with .cc only; `taking` (addc) takes one, and leaves one with .cc.
template <class T, Kind kind>
[[gnu::cold]] void add_kind(Table& table, const std::string& plain, const std::string& taking, const std::string& part,
                            const std::string& type) {
  table.add(plain + part + ".cc." + type,
            {"", Class::integer, handle<with_carry<T, kind, false, true>>, build<T, kind>});
  table.add(taking + part + "." + type, {"", Class::integer, handle<with_carry<T, kind, true, false>>, build<T, kind>});
  table.add(taking + part + ".cc." + type,
            {"", Class::integer, handle<with_carry<T, kind, true, true>>, build<T, kind>});
}

template <class T>
[[gnu::cold]] void add_type(Table& table, const std::string& type) {
  add_kind<T, Kind::add>(table, "add", "addc", "", type);
  add_kind<T, Kind::subtract>(table, "sub", "subc", "", type);
  add_kind<T, Kind::multiply_low>(table, "mad", "madc", ".lo", type);
  add_kind<T, Kind::multiply_high>(table, "mad", "madc", ".hi", type);
}

}  // namespace

[[gnu::cold]] void add_carry(Table& table) {
  add_type<u32>(table, "u32");
  add_type<s32>(table, "s32");
  add_type<u64>(table, "u64");
  add_type<s64>(table, "s64");
}

}  // namespace sim
