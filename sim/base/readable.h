/// Names as a reader wrote them.
#pragma once

#include <string>

namespace sim {

/// "gemm_kernel<128, 128>" for the mangled name.
std::string readable(const std::string& mangled);

}  // namespace sim
