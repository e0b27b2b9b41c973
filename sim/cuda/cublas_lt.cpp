/// cublasLtMatmul without epilogues, and the descriptors that it takes. Matrices lie in columns or in rows; scales are
/// single numbers. What else a descriptor asks for is refused by name.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "cuda/blas_product.h"
#include "cuda/errors.h"

namespace {

using namespace sim::blas;
using sim::say_once;

/// Attributes by their number, as the header lays the structures out for programs that keep them themselves.
struct Layout {
  int32_t type, order;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches;
  int64_t stride;
};
static_assert(sizeof(Layout) <= 8 * sizeof(uint64_t));

struct Description {
  int32_t compute, scale, pointer_mode, op_a, op_b, epilogue;
  const float *scale_a, *scale_b, *scale_c, *scale_d;
  uint64_t refused;  // attributes that were set and are not there, a bit for each
};
static_assert(sizeof(Description) <= 32 * sizeof(uint64_t));

struct Preference {
  uint64_t data[8];
};
struct Choice {  // cublasLtMatmulHeuristicResult_t
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct Place {
  size_t offset, bytes;
};
#define SIM_PLACE(type, member) \
  Place { offsetof(type, member), sizeof(type::member) }

const std::map<int, Place> of_layout = {{0, SIM_PLACE(Layout, type)},    {1, SIM_PLACE(Layout, order)},
                                        {2, SIM_PLACE(Layout, rows)},    {3, SIM_PLACE(Layout, columns)},
                                        {4, SIM_PLACE(Layout, leading)}, {5, SIM_PLACE(Layout, batches)},
                                        {6, SIM_PLACE(Layout, stride)}};
const std::map<int, Place> of_description = {
    {0, SIM_PLACE(Description, compute)},      {1, SIM_PLACE(Description, scale)},
    {2, SIM_PLACE(Description, pointer_mode)}, {3, SIM_PLACE(Description, op_a)},
    {4, SIM_PLACE(Description, op_b)},         {7, SIM_PLACE(Description, epilogue)},
    {17, SIM_PLACE(Description, scale_a)},     {18, SIM_PLACE(Description, scale_b)},
    {19, SIM_PLACE(Description, scale_c)},     {20, SIM_PLACE(Description, scale_d)}};
#undef SIM_PLACE
/// Set by many programs without effect on a result: triangles that are whole, the number of multiprocessors, sums that
/// may be less exact, and what belongs to an epilogue, which is refused itself.
constexpr uint64_t without_effect = 1u << 6 | 1u << 8 | 1u << 10 | 1u << 15 | 1u << 25 | 1u << 26;

template <class T>
Status set(T& to, const std::map<int, Place>& places, int attribute, const void* from, size_t bytes) {
  const auto place = places.find(attribute);
  if (place == places.end() || !from || bytes < place->second.bytes) return invalid_value;
  std::memcpy(reinterpret_cast<std::byte*>(&to) + place->second.offset, from, place->second.bytes);
  return success;
}

template <class T>
Status get(const T& of, const std::map<int, Place>& places, int attribute, void* to, size_t bytes, size_t* written) {
  const auto place = places.find(attribute);
  if (place == places.end()) return invalid_value;
  if (written) *written = place->second.bytes;
  if (bytes == 0) return success;
  if (!to || bytes < place->second.bytes) return invalid_value;
  std::memcpy(to, reinterpret_cast<const std::byte*>(&of) + place->second.offset, place->second.bytes);
  return success;
}

const char* epilogue_name(int epilogue) {
  switch (epilogue) {
    case 2: return "RELU";
    case 4: return "BIAS";
    case 6: return "RELU_BIAS";
    case 32: return "GELU";
    case 36: return "GELU_BIAS";
    case 130: return "RELU_AUX";
    case 134: return "RELU_AUX_BIAS";
    case 160: return "GELU_AUX";
    case 164: return "GELU_AUX_BIAS";
    default: return "of a backward pass";
  }
}

Status refuse(const std::string& what) {
  say_once("cublasLtMatmul with " + what + " is not supported");
  return not_supported;
}

bool is_small(const Layout& layout) { return layout.type == e4m3 || layout.type == e5m2; }

/// Whether the product can be had; says what is not there.
Status check(const Description& how, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  if (how.epilogue != 1) return refuse(std::string("the epilogue ") + epilogue_name(how.epilogue));
  if (how.pointer_mode > 1) return refuse("a vector of scales (CUBLASLT_MATMUL_DESC_POINTER_MODE)");
  if (how.refused != 0)
    return refuse("attribute " + std::to_string(__builtin_ctzll(how.refused)) + " of its description");
  for (const Layout* const each : {&a, &b, &c, &d}) {
    if (each->order > 1) return refuse("a matrix that lies neither in columns nor in rows");
    if (bytes_of(each->type) == 0) return refuse("type " + std::to_string(each->type) + " of a matrix");
    if (each->batches != a.batches) return invalid_value;
  }
  // As a GPU does: its instructions take 8-bit factors along k only.
  if ((is_small(a) || is_small(b)) && ((how.op_a == plain) != (a.order == 1) || (how.op_b == plain) == (b.order == 1)))
    return refuse("factors of FP8 that do not lie along k (A transposed, B not)");
  const auto turned = [](int op, uint64_t plain_one, uint64_t other) { return op == plain ? plain_one : other; };
  const uint64_t k = turned(how.op_a, a.columns, a.rows);
  const bool fits = turned(how.op_a, a.rows, a.columns) == d.rows && turned(how.op_b, b.columns, b.rows) == d.columns &&
                    turned(how.op_b, b.rows, b.columns) == k && c.rows == d.rows && c.columns == d.columns &&
                    c.order == d.order;
  return fits ? success : invalid_value;
}

}  // namespace

extern "C" {

Status cublasLtCreate(void** handle) {
  static int only = 0;
  if (!handle) return invalid_value;
  *handle = &only;
  return success;
}
Status cublasLtDestroy(void*) { return success; }
size_t cublasLtGetVersion() { return 130000; }
size_t cublasLtGetCudartVersion() { return 13000; }
const char* cublasGetStatusName(Status status);
const char* cublasLtGetStatusName(Status status) { return cublasGetStatusName(status); }
const char* cublasLtGetStatusString(Status status) { return cublasGetStatusName(status); }

Status cublasLtMatrixLayoutInit_internal(Layout* layout, size_t, int type, uint64_t rows, uint64_t columns,
                                         int64_t leading) {
  *layout = {type, 0, rows, columns, leading, 1, 0};
  return success;
}
Status cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  return cublasLtMatrixLayoutInit_internal(*layout = new Layout, sizeof(Layout), type, rows, columns, leading);
}
Status cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, success; }
Status cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* from, size_t bytes) {
  return set(*layout, of_layout, attribute, from, bytes);
}
Status cublasLtMatrixLayoutGetAttribute(const Layout* layout, int attribute, void* to, size_t bytes, size_t* written) {
  return get(*layout, of_layout, attribute, to, bytes, written);
}

Status cublasLtMatmulDescInit_internal(Description* how, size_t, int compute, int scale) {
  *how = {};
  how->compute = compute, how->scale = scale, how->epilogue = 1;
  return success;
}
Status cublasLtMatmulDescCreate(Description** how, int compute, int scale) {
  return cublasLtMatmulDescInit_internal(*how = new Description, sizeof(Description), compute, scale);
}
Status cublasLtMatmulDescDestroy(Description* how) { return delete how, success; }
Status cublasLtMatmulDescSetAttribute(Description* how, int attribute, const void* from, size_t bytes) {
  if (attribute < 0 || attribute > 63) return invalid_value;
  if (of_description.contains(attribute)) return set(*how, of_description, attribute, from, bytes);
  how->refused |= uint64_t{1} << attribute & ~without_effect;
  return success;
}
Status cublasLtMatmulDescGetAttribute(const Description* how, int attribute, void* to, size_t bytes, size_t* written) {
  return get(*how, of_description, attribute, to, bytes, written);
}

Status cublasLtMatmulPreferenceInit_internal(Preference* preference, size_t) { return *preference = {}, success; }
Status cublasLtMatmulPreferenceCreate(Preference** preference) { return *preference = new Preference{}, success; }
Status cublasLtMatmulPreferenceDestroy(Preference* preference) { return delete preference, success; }
Status cublasLtMatmulPreferenceSetAttribute(Preference*, int, const void*, size_t) { return success; }
Status cublasLtMatmulPreferenceGetAttribute(const Preference*, int, void*, size_t, size_t*) {
  return by_name("cublasLtMatmulPreferenceGetAttribute");
}

/// There is one algorithm, which needs no workspace.
Status cublasLtMatmulAlgoGetHeuristic(void*, const Description* how, const Layout* a, const Layout* b, const Layout* c,
                                      const Layout* d, const Preference*, int wanted, Choice* choices, int* found) {
  if (!found || !choices || wanted < 1) return invalid_value;
  const Status can = check(*how, *a, *b, *c, *d);
  *found = can == success;
  if (can == success) choices[0] = Choice{{}, 0, success, 1.0f, {}};
  return can;
}

Status cublasLtMatmul(void*, const Description* how, const void* alpha, const void* a, const Layout* at_a,
                      const void* b, const Layout* at_b, const void* beta, const void* c, const Layout* at_c, void* d,
                      const Layout* at_d, const void*, void*, size_t, void*) {
  if (!how || !alpha || !beta || !at_a || !at_b || !at_c || !at_d) return invalid_value;
  if (const Status can = check(*how, *at_a, *at_b, *at_c, *at_d); can != success) return can;
  const auto matrix = [](const void* data, const Layout& layout) {
    return Matrix{data, layout.type, static_cast<int>(layout.leading), layout.stride};
  };
  const auto scale = [](const float* at) { return at ? static_cast<double>(*at) : 1.0; };
  const int type = how->scale == f32 || how->scale == f64 || how->scale == s32 ? how->scale : scalar_type(how->compute);
  const double factor = scale(how->scale_a) * scale(how->scale_b) * (is_small(*at_d) ? scale(how->scale_d) : 1);
  // A matrix in rows is the transposed one in columns.
  const auto op = [](int op, const Layout& layout) {
    return (op == plain) == (layout.order == 0) ? plain : transposed;
  };
  const int k = static_cast<int>(how->op_a == plain ? at_a->columns : at_a->rows);
  Product product{"cublasLtMatmul",
                  op(how->op_a, *at_a),
                  op(how->op_b, *at_b),
                  static_cast<int>(at_d->rows),
                  static_cast<int>(at_d->columns),
                  k,
                  number(alpha, type, 0) * factor,
                  number(beta, type, 0) * scale(how->scale_c),
                  matrix(a, *at_a),
                  matrix(b, *at_b),
                  matrix(c, *at_c),
                  matrix(d, *at_d),
                  how->compute};
  if (at_d->order == 1) {
    std::swap(product.a, product.b);
    std::swap(product.m, product.n);
    product.op_a = op(how->op_b, *at_b) == plain ? transposed : plain;
    product.op_b = op(how->op_a, *at_a) == plain ? transposed : plain;
  }
  return multiply(product, at_a->batches);
}
}
