// What both files include and what takes longest to read, compiled once (Meson's cpp_pch).
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
