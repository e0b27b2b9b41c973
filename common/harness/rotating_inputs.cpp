#include "common/harness/rotating_inputs.h"

#include <algorithm>

RotatingInputs::RotatingInputs(const Matrices& first, const Variant& variant, const Shape& shape, std::size_t l2_bytes,
                               std::uint64_t seed) {
  problems_.push_back(first.problem(shape));
  std::size_t free_bytes = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
  const std::size_t wanted = 2 * l2_bytes / first.bytes() + 1;
  const std::size_t affordable = free_bytes / 2 / first.bytes();
  const std::size_t more = std::min({wanted, affordable, MOST - 1});
  for (std::size_t i = 1; i <= more; ++i) {
    sets_.push_back(std::make_unique<Matrices>(variant, shape));
    Matrices& set = *sets_.back();
    set.draw(variant, shape, InputKind::normal, seed + i);
    set.c.fill(Matrices::recipe(variant, shape, InputKind::normal, seed + i, 2));
    problems_.push_back(set.problem(shape));
  }
}
