/// What the simulator has to know of a program before it starts it.
#pragma once

#include <string>

namespace ptxsim {

struct Executable {
  bool is_elf = false;
  bool other_machine = false;   ///< for another processor than this
  bool links_runtime = false;   ///< with libcudart.so
  bool has_runtime = false;     ///< contains nvcc's static runtime, and says where its functions are
  bool has_fat_binary = false;  ///< nvcc has compiled kernels into it
};

/// Reads a file's headers, sections and symbols.
Executable inspect(const std::string& file);

}  // namespace ptxsim
