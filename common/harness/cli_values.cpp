#include "common/harness/cli_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace {

constexpr double MOST_SECONDS = 60;

// Accepts what `is_good` accepts; says of the rest that it is not `what`.
template <typename Predicate>
CLI::Validator checked(const std::string& what, Predicate is_good) {
  return {[=](const std::string& given) { return is_good(given) ? std::string() : "'" + given + "' is not " + what; },
          ""};
}

}  // namespace

CLI::Validator whole(long long least, long long most) {
  return checked("a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                 [=](const std::string& given) {
                   long long value = 0;
                   const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
                   return error == std::errc() && end == given.data() + given.size() && least <= value && value <= most;
                 });
}

CLI::Validator seconds() {
  return checked("a number of seconds from 0 to 60", [](const std::string& given) {
    double value = -1;
    return CLI::detail::lexical_cast(given, value) && 0 <= value && value <= MOST_SECONDS;
  });
}

CLI::Validator factor() {
  return checked("a finite number", [](const std::string& given) {
    float value = 0;
    return CLI::detail::lexical_cast(given, value) && std::isfinite(value);
  });
}

CLI::Validator part() {
  return checked("a part such as 2/4", [](const std::string& given) {
    int which = 0, parts = 0;
    const char *const end = given.data() + given.size(), *slash = std::from_chars(given.data(), end, which).ptr;
    if (slash == end || *slash != '/') return false;
    return std::from_chars(slash + 1, end, parts).ptr == end && 1 <= which && which <= parts;
  });
}

CLI::Validator something() {
  return checked("a name", [](const std::string& given) { return !given.empty(); });
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return checked("one of " + list,
                 [=](const std::string& given) { return std::find(names.begin(), names.end(), given) != names.end(); });
}
