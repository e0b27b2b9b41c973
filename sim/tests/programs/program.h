// What the small programs share: errors of CUDA calls end them, and each prints one line about its result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t error = (call);                                                       \
    if (error != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

// A copy of the host's data in the device's memory. Never freed: the program is about to end.
template <class T>
T* to_device(const std::vector<T>& data) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, data.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// The device's data, after everything that was launched before.
template <class T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> data(count);
  CHECK(cudaMemcpy(data.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return data;
}

// Numbers in [-1, 1) that are the same each time.
inline std::vector<float> numbers(size_t count, unsigned seed = 1) {
  std::vector<float> data(count);
  for (float& x : data) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return data;
}

// The largest difference, each relative to the expected value where that is above 1. NaN counts as infinite.
template <class T>
double worst_error(const std::vector<T>& got, const std::vector<T>& expected) {
  double worst = got.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    const double error =
        std::fabs(double(got[i]) - double(expected[i])) / std::max(1.0, std::fabs(double(expected[i])));
    worst = error <= worst ? worst : error == error ? error : INFINITY;
  }
  return worst;
}

// Prints the verdict; the result is the program's exit code.
inline int verdict(const char* program, double error, double allowed) {
  std::printf("%s: %s, largest error %.2g\n", program, error <= allowed ? "correct" : "WRONG", error);
  return error <= allowed ? 0 : 1;
}
