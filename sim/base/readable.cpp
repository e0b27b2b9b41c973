#include "base/readable.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sim {

std::string readable(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0) return mangled;
  std::string text = name.get();
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

}  // namespace sim
