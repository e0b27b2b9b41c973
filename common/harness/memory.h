// Device memory with an owner.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "common/device/check.h"

/// While one of these lives, memory that a DeviceBuffer frees is kept for the next one of exactly its size, so that
/// checkers still see where each ends: for many small problems one after the other on a GPU, where every cudaMalloc and
/// cudaFree waits for the device.
class KeptMemory {
 public:
  KeptMemory() { current() = this; }
  ~KeptMemory() {
    current() = nullptr;
    free_all();
  }
  KeptMemory(const KeptMemory&) = delete;

  static KeptMemory*& current() {
    static KeptMemory* instance = nullptr;
    return instance;
  }
  /// Memory of so many bytes that was given back, or null.
  void* take(std::size_t bytes) {
    const auto found = free_.find(bytes);
    if (found == free_.end()) return nullptr;
    bytes_ -= bytes;
    return free_.extract(found).mapped();
  }
  void give_back(void* data, std::size_t bytes) {
    free_.emplace(bytes, data);
    bytes_ += bytes;
    if (bytes_ > MOST_BYTES) free_all();
  }

 private:
  static constexpr std::size_t MOST_BYTES = std::size_t{1} << 30;

  void free_all() {
    for (const auto& [bytes, data] : free_) cudaFree(data);
    free_.clear();
    bytes_ = 0;
  }

  std::multimap<std::size_t, void*> free_;
  std::size_t bytes_ = 0;
};

/// A block of device memory, freed with its owner. Not copyable.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (KeptMemory* const kept = KeptMemory::current()) data_ = kept->take(bytes);
    if (data_ == nullptr) CUDA_CHECK(cudaMalloc(&data_, bytes));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    KeptMemory* const kept = KeptMemory::current();
    if (kept != nullptr && data_ != nullptr)
      kept->give_back(data_, bytes_);
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
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};
