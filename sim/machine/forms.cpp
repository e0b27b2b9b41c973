#include "machine/forms.h"

#include <algorithm>

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
    add_tensor_memory(filled);
    add_matrix_rows(filled);
    add_bulk_copies(filled);
    add_tensor_copies(filled);
    add_cluster(filled);
    add_mbarrier(filled);
    add_registers(filled);
    add_wgmma(filled);
    add_calls(filled);
    return filled;
  }();
  return table;
}

void Table::add(const std::string& pattern, const Form& form) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos) {
    forms_[pattern].push_back(form);
    return;
  }
  const size_t close = pattern.find('}', open);
  for (size_t from = open + 1; from <= close;) {
    const size_t to = std::min(pattern.find(',', from), close);
    add(pattern.substr(0, open) + pattern.substr(from, to - from) + pattern.substr(close + 1), form);
    from = to + 1;
  }
}

const std::vector<Form>* Table::find(const std::string& opcode) const {
  const auto found = forms_.find(opcode);
  return found == forms_.end() ? nullptr : &found->second;
}

std::vector<std::string> Table::opcodes() const {
  std::vector<std::string> names;
  for (const auto& [name, forms] : forms_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sim
