#include "numerics.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace sim::testing {

const std::vector<DotProduct>& recorded_dot_products() {
  static const std::vector<DotProduct> all = [] {
    std::ifstream file(TENSOR_NUMERICS_RECORDING);
    if (!file) throw std::runtime_error(std::string("no ") + TENSOR_NUMERICS_RECORDING);
    std::vector<DotProduct> products;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line + ",");
      std::string c, pairs;
      DotProduct product;
      for (std::string* field :
           {&product.factors, &product.sum, &product.what, &c, &pairs, &product.mma, &product.wgmma})
        std::getline(fields, *field, ',');
      if (product.wgmma == "=") product.wgmma = product.mma;
      product.c = static_cast<uint32_t>(std::stoul(c, nullptr, 16));
      const size_t digits = 2 * element_bytes(product.factors);
      for (size_t at = 0; at < pairs.size(); at += 2 * digits) {
        product.a.push_back(static_cast<uint32_t>(std::stoul(pairs.substr(at, digits), nullptr, 16)));
        product.b.push_back(static_cast<uint32_t>(std::stoul(pairs.substr(at + digits, digits), nullptr, 16)));
      }
      products.push_back(product);
    }
    return products;
  }();
  return all;
}

uint32_t element_bytes(const std::string& type) {
  return type == "f32" || type == "tf32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1;
}

std::pair<uint32_t, uint32_t> Registers::place(uint32_t row, uint32_t col) const {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < fragment_.elements(); ++i) {
      if (fragment_.cell(lane, i) != Cell{static_cast<uint8_t>(row), static_cast<uint8_t>(col)}) continue;
      const uint32_t byte = i * fragment_.element_bytes;
      return {byte / 4 * 32 + lane, byte % 4 * 8};
    }
  }
  throw std::out_of_range("no such element");
}

void Registers::set(uint32_t row, uint32_t col, uint32_t bits) {
  const auto [word, shift] = place(row, col);
  const uint32_t mask = fragment_.element_bytes == 4 ? ~0u : (1u << 8 * fragment_.element_bytes) - 1;
  words[word] = (words[word] & ~(mask << shift)) | bits << shift;
}

uint32_t Registers::get(const uint32_t* from, uint32_t row, uint32_t col) const {
  const auto [word, shift] = place(row, col);
  const uint32_t mask = fragment_.element_bytes == 4 ? ~0u : (1u << 8 * fragment_.element_bytes) - 1;
  return from[word] >> shift & mask;
}

}  // namespace sim::testing
