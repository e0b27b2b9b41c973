#include "core/base/readable.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace sim {

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // "f" would be a type, float
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

std::string readable(const std::string& mangled) {
  std::string text = demangled(mangled);
  if (text == mangled) return mangled;
  if (text.starts_with("void ")) text.erase(0, 5);
  for (size_t cast; (cast = text.find("(int)")) != std::string::npos;) text.erase(cast, 5);
  // Without the parameters: the last parenthesis that is outside of the template's angle brackets.
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '<';
    depth -= text[i] == '>';
    if (text[i] == '(' && depth == 0 && text.compare(i, 11, "(anonymous ") != 0) return text.substr(0, i);
  }
  return text;
}

std::string shortened(const std::string& name) {
  constexpr size_t most = 100;
  // From the deepest arguments on, until the rest is short enough.
  for (int deepest = 8; name.size() > most && deepest >= 1; --deepest) {
    std::string shorter;
    int depth = 0;
    for (const char letter : name) {
      if (letter == '>' && depth > 0) --depth;
      if (depth < deepest) shorter += letter;
      if (letter == '<' && ++depth == deepest) shorter += "\u2026";
    }
    if (shorter.size() <= most || deepest == 1)
      return shorter.size() <= most ? shorter : shorter.substr(0, most) + "\u2026";
  }
  return name;
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace sim
