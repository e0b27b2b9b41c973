/// The two functions that device code may call without defining them: printf and the failure of an assertion. Calls of
/// others have been expanded (front/inline.h).
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "core/base/readable.h"
#include "core/machine/block.h"
#include "core/ptx/inline.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// A zero-terminated string at a generic address.
std::string text_at(Warp& warp, uint32_t lane, uint64_t address) {
  std::string text;
  while (const std::byte* const byte = warp.block.resolve(warp, lane, address++, 1)) {
    if (*byte == std::byte{0}) return text;
    text += static_cast<char>(*byte);
    if (text.size() > 65536) break;
  }
  return text.empty() ? "(unreadable)" : text;
}

/// A parameter of the call, from the lane's local memory where `st.param` put it.
template <class T>
T argument(Warp& warp, uint32_t lane, uint32_t offset) {
  T value;
  std::memcpy(&value, warp.block.local(warp) + size_t{lane} * warp.block.program.local_bytes + offset, sizeof value);
  return value;
}

struct Formatted {
  std::string text;
  s32 arguments = 0;  ///< that the format takes
};

/// printf's text: arguments lie one after the other, each at a multiple of its own size.
Formatted formatted(Warp& warp, uint32_t lane, const std::string& format, uint64_t arguments) {
  Formatted result;
  std::string& out = result.text;
  uint64_t at = arguments;
  const auto next = [&]<class T>(T) {
    ++result.arguments;
    at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (const std::byte* const from = warp.block.resolve(warp, lane, at, sizeof(T)))
      std::memcpy(&value, from, sizeof value);
    at += sizeof(T);
    return value;
  };
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", i + 1);
    if (end == std::string::npos) {
      out += format.substr(i);
      break;
    }
    std::string spec = format.substr(i, end - i + 1);
    i = end;
    const char conversion = spec.back();
    if (conversion == '%') {
      out += '%';
      continue;
    }
    const bool is_long = spec.find('l') != std::string::npos || spec.find('z') != std::string::npos ||
                         spec.find('j') != std::string::npos;
    std::erase_if(spec, [](char c) { return c == 'l' || c == 'h' || c == 'z' || c == 'j'; });
    char buffer[512] = "";
    if (conversion == 's') {
      const std::string text = text_at(warp, lane, next(u64{}));
      std::snprintf(buffer, sizeof buffer, spec.c_str(), text.c_str());
    } else if (conversion == 'p') {
      std::snprintf(buffer, sizeof buffer, spec.c_str(), reinterpret_cast<void*>(next(u64{})));
    } else if (std::strchr("fFeEgGaA", conversion)) {
      std::snprintf(buffer, sizeof buffer, spec.c_str(), next(f64{}));
    } else if (is_long) {
      spec.insert(spec.size() - 1, "ll");
      std::snprintf(buffer, sizeof buffer, spec.c_str(), static_cast<long long>(next(s64{})));
    } else {
      std::snprintf(buffer, sizeof buffer, spec.c_str(), next(s32{}));
    }
    out += buffer;
  }
  return result;
}

/// Where the parameters lie in local memory; of vprintf, the third is the result.
struct Call {
  std::array<uint32_t, 3> offset;
};

/// vprintf(format, arguments): returns the number of arguments, as the device's printf does.
void print(Warp& warp, const Call& call) {
  for_lanes(warp.exec, [&](uint32_t lane) {
    const std::string format = text_at(warp, lane, argument<u64>(warp, lane, call.offset[0]));
    const Formatted out = formatted(warp, lane, format, argument<u64>(warp, lane, call.offset[1]));
    std::fwrite(out.text.data(), 1, out.text.size(), stdout);
    std::memcpy(warp.block.local(warp) + size_t{lane} * warp.block.program.local_bytes + call.offset[2], &out.arguments,
                sizeof out.arguments);
  });
}

/// __assertfail(message, file, line, function, char size).
void assertion_failed(Warp& warp, const Call& call) {
  if (warp.exec == 0) return;
  const uint32_t lane = first_lane(warp.exec);
  Block& block = warp.block;
  block.give_up(warp, Finding::failed_assertion, [&] {
    return "assertion '" + text_at(warp, lane, argument<u64>(warp, lane, call.offset[0])) + "' failed in " +
           block.thread(warp, lane) + " at " + text_at(warp, lane, argument<u64>(warp, lane, call.offset[1])) + ":" +
           std::to_string(argument<u32>(warp, lane, call.offset[2]));
  });
}

/// `call.uni (result), name, (parameters)`.
void build_call(Builder& builder) {
  const auto& operands = builder.operands();
  using Kind = ptx::Operand::Kind;
  const size_t callee = !operands.empty() && operands[0].kind == Kind::vector ? 1 : 0;
  if (operands.size() <= callee || operands[callee].kind != Kind::name)
    builder.refuse("a call through a function pointer is not modelled");
  const std::string& name = operands[callee].text;
  const bool prints = name == "vprintf";
  if (!prints && name != "__assertfail") {
    const std::string function = "function '" + readable(name) + "'";
    if (name.starts_with("__cudaCDP") || name.starts_with("cudaCDP"))
      builder.refuse("a launch by a kernel (dynamic parallelism) is not modelled: " + function);
    if (ptx::find_function(builder.module(), name))
      builder.refuse(function + " calls itself, or calls that are expanded make more than a million instructions");
    builder.refuse(function +
                   " is not in the PTX; of the functions that CUDA itself provides, printf and assert can be "
                   "called");
  }
  const size_t needed = prints ? 2 : 5;
  if (operands.size() != callee + 2 || operands[callee + 1].parts.size() != needed ||
      (prints && (callee == 0 || operands[0].parts.size() != 1))) {
    builder.refuse("a wrong number of parameters");
  }
  const auto offset = [&](const ptx::Operand& operand) {
    if (operand.kind != Kind::variable || operand.index < builder.parameter_count())
      builder.refuse("a parameter is needed here");
    return static_cast<uint32_t>(builder.variable_address(operand.index));
  };
  Call& made = builder.made<Call>();
  made.offset[0] = offset(operands[callee + 1].parts[0]);
  made.offset[1] = offset(operands[callee + 1].parts[1]);
  made.offset[2] = prints ? offset(operands[0].parts[0]) : offset(operands[callee + 1].parts[2]);
  builder.run_by(prints ? handle<print> : handle<assertion_failed>);
}

}  // namespace

[[gnu::cold]] void add_calls(Table& table) { table.add("{call,call.uni}", {"", Class::other, nullptr, build_call}); }

}  // namespace sim
