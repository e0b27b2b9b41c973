// Variants that compute on the host, right ones and wrong ones. In the simulator device memory is host memory, so that
// they can stand where a kernel would.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "common/device/gemm.h"
#include "common/harness/dispatch.h"
#include "common/harness/shape.h"

template <>
inline double to_double(tf32_t stored) {
  return stored.value;
}

/// The definition of the product, in the accumulator's arithmetic: each sum rounded to Acc, then C to Out.
template <typename AB, typename Acc, typename Out, bool TN>
void host_gemm(const Gemm<AB, Acc, Out>& g, const LaunchOptions&, cudaStream_t) {
  for (int row = 0; row < g.m; ++row)
    for (int col = 0; col < g.n; ++col) {
      Acc sum = from_double<Acc>(0.0);
      for (int k = 0; k < g.k; ++k) {
        const double a = to_double(g.a[static_cast<std::size_t>(row) * g.lda + k]);
        const double b = to_double(TN ? g.b[static_cast<std::size_t>(col) * g.ldb + k]
                                      : g.b[static_cast<std::size_t>(k) * g.ldb + col]);
        sum = from_double<Acc>(to_double(sum) + a * b);
      }
      Out& c = g.c[static_cast<std::size_t>(row) * g.ldc + col];
      double value = g.alpha * to_double(sum);
      if (g.beta != 0.0f) value += g.beta * to_double(c);
      c = from_double<Out>(value);
    }
}

/// A variant that is right.
template <typename AB = float, typename Acc = AB, typename Out = AB>
Variant right_variant() {
  return Variant("right", host_gemm<AB, Acc, Out, false>);
}
template <typename AB = float, typename Acc = AB, typename Out = AB>
Variant right_tn_variant() {
  return Variant("right_tn", host_gemm<AB, Acc, Out, true>).tn();
}

/// A launcher that remembers something, such as a lambda that calls another one; kept until the program ends.
template <typename Function>
AnyLauncher launching(Function function) {
  static std::deque<Function> kept;  // whose elements stay where they are
  const auto call = [](const AnyLauncher& self, const Problem& p, const LaunchOptions& o, cudaStream_t s) {
    (*static_cast<const Function*>(self.state))(p, o, s);
  };
  return {nullptr, call, &kept.emplace_back(std::move(function))};
}

/// What a wrong kernel does beside, or after, the right computation. It may write anywhere in the problem.
using Mistake = std::function<void(const Problem&)>;

/// A variant that computes what is right, then makes a mistake.
inline Variant wrong_variant(Variant variant, const Mistake& mistake) {
  variant.name = "wrong";
  variant.launch =
      launching([right = variant.launch, mistake](const Problem& p, const LaunchOptions& o, cudaStream_t s) {
        right(p, o, s);
        mistake(p);
      });
  return variant;
}

/// Element (row, col) of a problem's C, in float.
inline float& c_of(const Problem& p, int row, int col) {
  return static_cast<float*>(p.c)[static_cast<std::size_t>(row) * p.ldc + col];
}

/// A shape whose leading dimensions are as narrow as its matrices.
inline Shape narrow(int m, int n, int k, float alpha = 1.0f, float beta = 0.0f) {
  return {m, n, k, k, n, n, alpha, beta};
}
inline Shape narrow_tn(int m, int n, int k, float alpha = 1.0f, float beta = 0.0f) {
  return {m, n, k, k, k, n, alpha, beta};
}
