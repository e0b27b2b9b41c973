#include "core/warp/forms.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace sim {

const Table& Table::instance() {
  static const Table table = [] {
    Table filled;
    add_integer(filled);
    add_floating(filled);
    add_convert(filled);
    add_rounding(filled);
    add_special_functions(filled);
    add_carry(filled);
    add_intrinsics(filled);
    add_half(filled);
    add_half_convert(filled);
    add_match(filled);
    add_control(filled);
    add_branch_table(filled);
    add_barrier_reductions(filled);
    add_memory(filled);
    add_asynchronous(filled);
    add_tensor(filled);
    add_exact_products(filled);
    add_sparse_products(filled);
    add_quad_pair_products(filled);
    add_tensor_memory(filled);
    add_matrix_rows(filled);
    add_bulk_copies(filled);
    add_tensor_copies(filled);
    add_cluster(filled);
    add_mbarrier(filled);
    add_registers(filled);
    add_wgmma(filled);
    add_calls(filled);
    add_small_conversions(filled);
    return filled;
  }();
  return table;
}

namespace {

/// A pattern's first choice: what comes before it, the alternatives, what comes behind.
struct Choice {
  std::string_view before, behind;
  std::vector<std::string_view> alternatives;
};

std::optional<Choice> first_choice(std::string_view pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return std::nullopt;
  const size_t close = pattern.find('}', open);
  Choice choice{.before = pattern.substr(0, open), .behind = pattern.substr(close + 1), .alternatives = {}};
  for (size_t from = open + 1; from <= close;) {
    const size_t to = std::min(pattern.find(',', from), close);
    choice.alternatives.push_back(pattern.substr(from, to - from));
    from = to + 1;
  }
  return choice;
}

bool matches(std::string_view pattern, std::string_view opcode) {
  const auto choice = first_choice(pattern);
  if (!choice) return pattern == opcode;
  if (!opcode.starts_with(choice->before)) return false;
  const std::string_view rest = opcode.substr(choice->before.size());
  return std::any_of(choice->alternatives.begin(), choice->alternatives.end(), [&](std::string_view each) {
    return rest.starts_with(each) && matches(choice->behind, rest.substr(each.size()));
  });
}

/// Calls body(text) for the pattern with each of its first alternatives.
template <class Body>
void for_alternatives(const Choice& choice, Body body) {
  for (const std::string_view each : choice.alternatives)
    body(std::string(choice.before) + std::string(each) + std::string(choice.behind));
}

void expand(const std::string& pattern, std::set<std::string>& to) {
  if (const auto choice = first_choice(pattern))
    for_alternatives(*choice, [&](const std::string& text) { expand(text, to); });
  else
    to.insert(pattern);
}

}  // namespace

void Table::add(const std::string& pattern, const Form& form) {
  const auto choice = first_choice(pattern);
  const size_t dot = pattern.find('.');
  if (choice && choice->before.size() < dot)  // of the name itself
    for_alternatives(*choice, [&](const std::string& text) { add(text, form); });
  else
    by_name_[pattern.substr(0, dot)].push_back({pattern, form});
}

std::vector<const Form*> Table::find(const std::string& opcode) const {
  std::vector<const Form*> forms;
  const auto lines = by_name_.find(opcode.substr(0, opcode.find('.')));
  if (lines == by_name_.end()) return forms;
  for (const Line& line : lines->second)
    if (matches(line.pattern, opcode)) forms.push_back(&line.form);
  return forms;
}

std::string Table::reordered(const std::string& opcode) const {
  // Those in which no two modifiers of one kind say different things by their order, as the two types of cvt do.
  static const std::set<std::string_view> any_order = {"atom",  "bar",      "barrier",  "fence",    "ld",  "ldmatrix",
                                                       "match", "mbarrier", "membar",   "prefetch", "red", "redux",
                                                       "shfl",  "st",       "stmatrix", "vote"};
  const std::string name = opcode.substr(0, opcode.find('.'));
  const auto lines = by_name_.find(name);
  if (!any_order.contains(name) || lines == by_name_.end()) return "";
  const auto sorted = [](std::string_view text) {
    std::vector<std::string_view> parts;
    for (size_t from = 0; from <= text.size();) {
      const size_t to = std::min(text.find('.', from), text.size());
      parts.push_back(text.substr(from, to - from));
      from = to + 1;
    }
    std::sort(parts.begin(), parts.end());
    return parts;
  };
  const auto wanted = sorted(opcode);
  for (const Line& line : lines->second) {
    std::set<std::string> known;
    expand(line.pattern, known);
    for (const std::string& each : known) {
      if (each.size() == opcode.size() && sorted(each) == wanted) return each;
    }
  }
  return "";
}

std::set<std::string> Table::opcodes() const {
  std::set<std::string> all;
  for (const auto& [name, lines] : by_name_)
    for (const Line& line : lines) expand(line.pattern, all);
  return all;
}

}  // namespace sim
