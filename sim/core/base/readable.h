/// Names as a reader wrote them, and addresses.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

/// What c++filt prints; the name itself where it is not mangled.
std::string demangled(const std::string& name);

/// "gemm_kernel<128, 128>" for the mangled name.
std::string readable(const std::string& mangled);

/// The same with long template arguments left out: "gemm<TiledMma<…>, …>".
std::string shortened(const std::string& readable_name);

/// "0x40".
std::string hexadecimal(uint64_t value);

}  // namespace sim
