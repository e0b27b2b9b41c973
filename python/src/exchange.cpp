#include "python/src/exchange.h"

namespace {

constexpr std::uint32_t MAJOR = 1;
constexpr const char *ATTRIBUTE = "__dlpack_c_exchange_api__", *CAPSULE = "dlpack_exchange_api";

}  // namespace

const ExchangeApi* ExchangeApi::of(nb::handle array_class) {
  if (!nb::hasattr(array_class, ATTRIBUTE)) return nullptr;
  const nb::object offered = array_class.attr(ATTRIBUTE);
  if (!PyCapsule_IsValid(offered.ptr(), CAPSULE)) return nullptr;
  const auto* const api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(offered.ptr(), CAPSULE));
  const bool usable = api->header.major == MAJOR && api->view_from_object != nullptr && api->current_stream != nullptr;
  return usable ? api : nullptr;
}
