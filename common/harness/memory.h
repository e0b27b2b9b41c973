// Device memory with an owner.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "common/device/check.h"

/// While one of these lives, memory that a DeviceBuffer frees is kept for the next that is about as large: for many
/// small problems one after the other on a GPU, where each cudaMalloc and cudaFree waits for the device. Not for the
/// simulator, which finds accesses beyond an allocation's end.
class KeptMemory {
 public:
  KeptMemory() { current() = this; }
  ~KeptMemory() {
    current() = nullptr;
    for (const auto& [bytes, data] : free_) cudaFree(data);
  }
  KeptMemory(const KeptMemory&) = delete;

  static KeptMemory*& current() {
    static KeptMemory* instance = nullptr;
    return instance;
  }
  /// What is allocated for `bytes`: the next power of two.
  static std::size_t rounded(std::size_t bytes) {
    std::size_t size = 512;
    while (size < bytes) size *= 2;
    return size;
  }
  /// Memory of rounded(bytes) that was given back, or null.
  void* take(std::size_t bytes) {
    const auto found = free_.find(rounded(bytes));
    return found == free_.end() ? nullptr : free_.extract(found).mapped();
  }
  void give_back(void* data, std::size_t bytes) { free_.emplace(rounded(bytes), data); }

 private:
  std::multimap<std::size_t, void*> free_;
};

/// A block of device memory, freed with its owner. Not copyable.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes), keeper_(KeptMemory::current()) {
    if (keeper_ != nullptr) data_ = keeper_->take(bytes);
    if (data_ == nullptr) CUDA_CHECK(cudaMalloc(&data_, keeper_ == nullptr ? bytes : KeptMemory::rounded(bytes)));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (keeper_ != nullptr && keeper_ == KeptMemory::current())
      keeper_->give_back(data_, bytes_);
    else
      cudaFree(data_);
  }

  void* get() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

  void upload(const void* host) { CUDA_CHECK(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice)); }
  void download(void* host) const { CUDA_CHECK(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost)); }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(keeper_, other.keeper_);
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  KeptMemory* keeper_ = nullptr;
};
