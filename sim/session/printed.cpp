/// What was found and counted, as text for people.
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/checks/rules.h"
#include "session/simulator.h"

namespace sim {
namespace {

std::string times(uint64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

std::string head(const Mistake& mistake) {
  const Report& first = mistake.first;
  return std::string(first.warning ? "warning, " : "") + name(first.kind) + " in " + shortened(readable(first.kernel));
}

std::string also(const Mistake& mistake) {
  constexpr size_t most = 4;
  std::string text;
  for (size_t i = 0; i < std::min(most, mistake.also.size()); ++i)
    text += (i == 0 ? "; also " : ", ") + mistake.also[i];
  if (mistake.also.size() > most) text += " and at " + std::to_string(mistake.also.size() - most) + " more places";
  return text;
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string line_of_table(const std::string& what, const std::string& value) {
  std::array<char, 120> text{};
  std::snprintf(text.data(), text.size(), "  %-34s %16s\n", what.c_str(), value.c_str());
  return text.data();
}

std::string quotient(uint64_t a, uint64_t b) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(a) / static_cast<double>(b));
  return b == 0 ? "" : text.data();
}

}  // namespace

std::vector<Mistake> mistakes_of(const Reports& reports) {
  std::vector<Report> all = reports.all(), warnings = reports.warnings();
  all.insert(all.end(), warnings.begin(), warnings.end());
  return gathered(std::move(all));
}

std::string told(const Mistake& mistake) {
  return head(mistake) + ": " + mistake.first.message +
         (mistake.times > 1 ? " (" + times(mistake.times) + also(mistake) + ")" : "");
}

std::string Simulator::new_mistakes() {
  std::vector<Report> all = reports.all(), warnings = reports.warnings(), fresh;
  all.insert(all.end(), warnings.begin(), warnings.end());
  std::copy_if(all.begin(), all.end(), std::back_inserter(fresh),
               [&](const Report& each) { return each.order >= told_; });
  told_ = all.size();
  std::string text;
  for (const Mistake& mistake : gathered(std::move(fresh))) {
    if (told_mistakes_++ == most_mistakes_) text += "simulator: more is found than is printed: ptxsim --reports N\n";
    if (told_mistakes_ > most_mistakes_) continue;
    text += "simulator: " + told(mistake) + "\n";
  }
  return text;
}

std::string Simulator::all_mistakes() const {
  const std::vector<Mistake> mistakes = mistakes_of(reports);
  if (mistakes.empty() || mistakes.front().first.warning) return "";  // warnings were said when they were new
  const auto warnings =
      std::count_if(mistakes.begin(), mistakes.end(), [](const Mistake& each) { return each.first.warning; });
  const auto counted = [](size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = "simulator: in all " + counted(mistakes.size() - static_cast<size_t>(warnings), "error");
  if (warnings != 0) text += " and " + counted(static_cast<size_t>(warnings), "warning");
  text += ", causes first\n";
  size_t number = 0;
  bool without_lines = false;
  std::set<Finding> ruled;
  for (const Mistake& mistake : mistakes) {
    if (number == most_mistakes_) {
      text += "  and " + std::to_string(mistakes.size() - number) + " more (ptxsim --reports N)\n";
      break;
    }
    const SourceLines& places = mistake.first.lines;
    text += "  " + std::to_string(++number) + ". " + head(mistake) + ", " + times(mistake.times);
    // Without lines the message says what it is.
    if (!places.own_there.empty())
      text += ": " + places.own_here + " and " + places.own_there;
    else if (places.own_here.find(".cu") != std::string::npos && places.own_here.size() < 120)
      text += ": " + places.own_here;
    else
      text += ": " + mistake.first.message;
    text += also(mistake) + "\n";
    if (!mistake.first.warning && ruled.insert(mistake.first.kind).second)  // once for each kind
      text += "     rule: " + std::string(rule(mistake.first.kind)) + "\n";
    without_lines |= places.own_here.starts_with("PTX line");
  }
  if (without_lines)
    text += "  (compiled with nvcc -lineinfo, or by ptxsim nvcc, a program shows lines of its source)\n";
  return text;
}

std::string Simulator::counts_table() {
  const auto seen = nlohmann::ordered_json::parse(summary(false));
  std::string text;
  for (const auto& kernel : seen.at("kernels")) {
    const auto& counts = kernel.at("counts");
    const auto of = [&](const char* key) { return counts.at(key).get<uint64_t>(); };
    const auto triple = [&](const char* key) {
      const auto& size = kernel.at(key);
      return std::to_string(size[0].get<int>()) + "x" + std::to_string(size[1].get<int>()) + "x" +
             std::to_string(size[2].get<int>());
    };
    text += shortened(kernel.at("name")) + ", launched " + times(kernel.at("launches")) + ", last grid " +
            triple("grid") + ", block " + triple("block") + "\n";
    text += line_of_table("instructions of warps", grouped(of("instructions")));
    constexpr std::array<std::array<const char*, 2>, 3> plain = {{{"products on tensor cores", "tensor_ops"},
                                                                  {"barriers", "barriers"},
                                                                  {"divergent branches", "divergent_branches"}}};
    for (const auto& [what, key] : plain) {
      if (of(key) != 0) text += line_of_table(what, grouped(of(key)));
    }
    constexpr std::array<std::array<const char*, 3>, 4> ratios = {
        {{"global loads, sectors per request", "global_load_sectors", "global_load_requests"},
         {"global stores, sectors per request", "global_store_sectors", "global_store_requests"},
         {"shared loads, wavefronts per request", "shared_load_wavefronts", "shared_load_requests"},
         {"shared stores, wavefronts per request", "shared_store_wavefronts", "shared_store_requests"}}};
    for (const auto& [what, many, requests] : ratios) {
      if (of(requests) == 0) continue;
      text += line_of_table(std::string(what).substr(0, std::string(what).find(',')), grouped(of(requests)));
      text += line_of_table(std::string("  ") + (std::string(what).substr(std::string(what).find(',') + 2)),
                            quotient(of(many), of(requests)));
    }
  }
  return text.empty() ? "no kernel was launched\n" : text;
}

}  // namespace sim
