// DLPack's C exchange API (DLPack 1.3): how a framework shows an array to compiled code in tens of nanoseconds, where
// the same through Python's __dlpack__ takes a microsecond. PyTorch has it.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>

namespace nb = nanobind;

/// The functions that a framework offers, in the order that DLPack lays down. Those that are not called here have no
/// types.
struct ExchangeApi {
  struct Header {
    std::uint32_t major, minor;  // the version of DLPack
    Header* older;
  } header;
  void (*allocate)();
  void (*owned_from_object)();
  void (*object_from_owned)();
  int (*view_from_object)(void* object, nb::dlpack::dltensor* view);  // -1, with Python's error set, where it fails
  int (*current_stream)(std::int32_t device_type, std::int32_t device, void** stream);

  /// What the class of a framework's arrays offers; null where that is nothing, or of another major version.
  static const ExchangeApi* of(nb::handle array_class);
};
