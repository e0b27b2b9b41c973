#include "python/src/framework.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <vector>

#include "common/device/check.h"
#include "common/harness/errors.h"
#include "common/harness/timing.h"

namespace {

std::string class_name(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

// 7, "07" and "07_thread_tile_8x8" name a step; None names none.
const Step* step_of(const Steps& steps, nb::handle asked) {
  if (asked.is_none()) return nullptr;
  if (PyLong_Check(asked.ptr())) return &steps.find(nb::str(asked).c_str());
  if (PyUnicode_Check(asked.ptr())) return &steps.find(nb::borrow<nb::str>(asked).c_str());
  throw nb::type_error("step is a number or a name, such as 11 or '11_warp_tiling'");
}

std::string variant_named(nb::handle asked) {
  if (asked.is_none()) return "";
  if (PyUnicode_Check(asked.ptr())) return nb::borrow<nb::str>(asked).c_str();
  throw nb::type_error("variant is a name; gemm_steps.variants(step) lists them");
}

}  // namespace

Framework::Framework(const Steps& steps, std::string name, nb::object array_class, nb::object make, nb::object stream,
                     nb::object lend, bool finished)
    : steps_(steps),
      name_(std::move(name)),
      class_(std::move(array_class)),
      make_(std::move(make)),
      stream_(std::move(stream)),
      lend_(std::move(lend)),
      exchange_(ExchangeApi::of(class_)),
      finished_(finished) {}

nb::object Framework::multiply(nb::handle a, nb::handle b, nb::handle step, nb::handle variant, nb::handle out,
                               float alpha, float beta) const {
  const Asked asked{step_of(steps_, step), variant_named(variant), alpha, beta};
  const Array a_array = array("a", a), b_array = array("b", b);
  if (out.is_none() && beta != 0) throw BadInput("beta is a factor of what out holds; pass out as well");
  const bool on_host = stream_.is_none();
  if (!a_array.place.on_gpu && !on_host)
    throw BadInput("a is in the memory of the CPU; move the arrays to the GPU, or pass NumPy arrays");
  require_factors(a_array, b_array);
  const nb::object result = out.is_none() ? make_(a, a_array.rows, b_array.cols) : nb::borrow(out);
  const Product product = decided(steps_, asked, a_array, b_array, array("out", result));
  if (on_host) {
    const nb::gil_scoped_release others_run;
    multiply_on_host(product);
  } else {
    const cudaStream_t on = stream(a, product.place);
    launch(product, on);
    if (finished_) {
      const nb::gil_scoped_release others_run;
      finish(product, on);
    }
  }
  return result;
}

nb::tuple Framework::chosen(nb::handle a, nb::handle b, nb::handle out, nb::handle step) const {
  const Product product = decided(steps_, {step_of(steps_, step)}, array("a", a), array("b", b), array("out", out));
  return nb::make_tuple(product.step->name, std::string(product.variant->name));
}

double Framework::launch_seconds(nb::handle a, nb::handle b, nb::handle out, nb::handle step, int calls,
                                 int batches) const {
  using Clock = std::chrono::steady_clock;
  const Product product = decided(steps_, {step_of(steps_, step)}, array("a", a), array("b", b), array("out", out));
  const cudaStream_t on = stream(a, product.place);
  std::vector<double> seconds;
  for (int batch = 0; batch < batches; ++batch) {
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) launch(product, on);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() / calls);
  }
  return spread_of(seconds).median;
}

Array Framework::array(const char* name, nb::handle object) const {
  const int is_ours = PyObject_IsInstance(object.ptr(), class_.ptr());
  if (is_ours < 0) throw nb::python_error();
  if (is_ours == 0)
    throw nb::type_error(
        ("a is an array of " + name_ + " and " + name + " is a " + class_name(object) + "; convert one of them")
            .c_str());
  if (exchange_ != nullptr) {
    nb::dlpack::dltensor view;
    if (exchange_->view_from_object(object.ptr(), &view) == 0) return Array(name, view);
    PyErr_Clear();
  } else {
    nb::ndarray<nb::ro> lent;  // the object that was lent keeps the elements where they are
    if (nb::try_cast(lend_.is_none() ? nb::borrow(object) : lend_(object), lent)) {
      nb::dlpack::dltensor view;
      std::vector<std::int64_t> shape(lent.ndim());
      for (std::size_t i = 0; i < lent.ndim(); ++i) shape[i] = lent.shape(i);
      view.data = const_cast<void*>(lent.data());
      view.device = {lent.device_type(), lent.device_id()};
      view.ndim = static_cast<std::int32_t>(lent.ndim());
      view.dtype = lent.dtype();
      view.shape = shape.data();
      view.strides = const_cast<std::int64_t*>(lent.stride_ptr());
      return Array(name, view);
    }
  }
  throw nb::type_error((std::string(name) + " is a " + class_name(object) +
                        " that cannot be read through DLPack; pass a dense array in the memory of one device")
                           .c_str());
}

cudaStream_t Framework::stream(nb::handle a, const Place& place) const {
  if (exchange_ == nullptr) return reinterpret_cast<cudaStream_t>(nb::cast<std::uintptr_t>(stream_(a)));
  void* current = nullptr;
  if (exchange_->current_stream(nb::device::cuda::value, place.gpu, &current) != 0) throw nb::python_error();
  return static_cast<cudaStream_t>(current);
}
