#include "python/src/array.h"

#include <limits>

#include "common/harness/errors.h"

namespace {

using std::to_string;

constexpr std::int64_t INT_LIMIT = std::numeric_limits<int>::max();

std::string spoken_type(nb::dlpack::dtype type) {
  const std::string bits = to_string(type.bits);
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
    case nb::dlpack::dtype_code::Int: return "int" + bits;
    case nb::dlpack::dtype_code::UInt: return "uint" + bits;
    case nb::dlpack::dtype_code::Float: return "float" + bits;
    case nb::dlpack::dtype_code::Bfloat: return "bfloat" + bits;
    case nb::dlpack::dtype_code::Complex: return "complex" + bits;
    case nb::dlpack::dtype_code::Bool: return "bool";
    default: return "something else of " + bits + " bits";
  }
}

DType element_type(const std::string& name, nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (is(Code::Float, 32)) return DType::f32;
  if (is(Code::Float, 16)) return DType::f16;
  if (is(Code::Bfloat, 16)) return DType::bf16;
  throw nb::type_error(
      (name + " holds " + spoken_type(type) + "; the steps multiply float32, float16 and bfloat16: convert it first")
          .c_str());
}

Place place_of(const std::string& name, int kind, int number) {
  switch (kind) {
    case nb::device::cpu::value: return {};
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value: return {true, number};
    default: throw BadInput(name + " is neither in the memory of the CPU nor on an NVIDIA GPU; move it to the GPU");
  }
}

int side(const std::string& name, const char* what, std::int64_t length) {
  if (1 <= length && length <= INT_LIMIT) return static_cast<int>(length);
  throw BadInput(name + " has " + to_string(length) + " " + what + "; the steps take from 1 to " +
                 to_string(INT_LIMIT));
}

}  // namespace

Array::Array(const char* array_name, const nb::dlpack::dltensor& view) : name(array_name) {
  if (view.ndim != 2)
    throw BadInput(std::string(name) + " has " + to_string(view.ndim) +
                   " dimensions; the steps multiply matrices, which have 2: reshape it, or multiply one by one");
  type = element_type(name, view.dtype);
  place = place_of(name, view.device.device_type, view.device.device_id);
  rows = side(name, "rows", view.shape[0]);
  cols = side(name, "columns", view.shape[1]);
  strides_[0] = view.strides == nullptr ? cols : view.strides[0];  // none are given for C order
  strides_[1] = view.strides == nullptr ? 1 : view.strides[1];
  data = static_cast<char*>(view.data) + view.byte_offset;
}

std::optional<int> Array::ld_of(int rows, int cols, std::int64_t down, std::int64_t along) {
  if (cols > 1 && along != 1) return std::nullopt;
  if (rows == 1) return 0;
  if (down < cols || down > INT_LIMIT) return std::nullopt;
  return static_cast<int>(down);
}

std::string Array::spoken() const {
  return std::string(name) + " is " + to_string(rows) + " x " + to_string(cols) + ", with strides of " +
         to_string(strides_[0]) + " and " + to_string(strides_[1]) + " elements";
}

bool overlap(const Extent& one, const Extent& other) {
  if (one.begin() > other.begin()) return overlap(other, one);
  const std::size_t distance = other.begin() - one.begin(), pitch = one.pitch_bytes;
  if (distance >= one.bytes()) return false;
  if (pitch != other.pitch_bytes) return true;  // they may: rows of both lie between each other
  const std::size_t column = distance % pitch;  // where the other's rows start within one row of this
  return column < one.row_bytes || column + other.row_bytes > pitch;
}
