#include "common/harness/matrices.h"

Matrices::Matrices(const Variant& variant, const Shape& shape)
    : a(variant.ab, shape.m, shape.k, shape.lda),
      b(variant.ab, variant.b_transposed ? shape.n : shape.k, variant.b_transposed ? shape.k : shape.n, shape.ldb),
      c(variant.out, shape.m, shape.n, shape.ldc) {}

Recipe Matrices::recipe(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed, int matrix) {
  return recipe_for(kind, seed * 3 + matrix, variant.acc, variant.out, shape.k);
}

void Matrices::draw(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed) {
  a.fill(recipe(variant, shape, kind, seed, 0));
  b.fill(recipe(variant, shape, kind, seed, 1));
}

Problem Matrices::problem(const Shape& s) const {
  return {s.m, s.n, s.k, a.data(), s.lda, b.data(), s.ldb, c.data(), s.ldc, s.alpha, s.beta};
}
