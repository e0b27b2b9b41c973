// What every step's table of variants is made of, compiled once and not with every kernel.
#include "common/device/gemm.h"

template class std::vector<Variant>;

void AnyLauncher::operator()(const Problem& problem, LaunchOptions options, cudaStream_t stream) const {
  options.alone = options.alone || alone;
  options.scales = problem.scales;
  call(*this, problem, options, stream);
}

Variant::Variant(const char* variant_name, DType ab_type, DType acc_type, DType out_type)
    : name(variant_name), ab(ab_type), b(ab_type), acc(acc_type), out(out_type) {}
Variant::Variant() : Variant("", DType::f32, DType::f32, DType::f32) {}
Variant::Variant(const Variant&) = default;
Variant::Variant(Variant&&) noexcept = default;
Variant& Variant::operator=(const Variant&) = default;
Variant& Variant::operator=(Variant&&) noexcept = default;
Variant::~Variant() = default;

Variant& Variant::covers(const char* published) {
  published_names.emplace_back(published);
  return *this;
}
Variant& Variant::leaves_out(const char* part) {
  left_out = part;
  return *this;
}
Variant& Variant::note(const char* words) {
  remark = words;
  return *this;
}
