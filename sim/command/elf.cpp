#include "command/elf.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace ptxsim {
namespace {

#if defined(__x86_64__)
constexpr uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t this_machine = EM_AARCH64;
#else
constexpr uint16_t this_machine = EM_NONE;
#endif

class File {
 public:
  explicit File(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  /// Zeros where the file ends before.
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (offset <= bytes_.size() && sizeof value <= bytes_.size() - offset)
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view text(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    return {bytes_.data() + offset, strnlen(bytes_.data() + offset, bytes_.size() - offset)};
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace

Executable inspect(const std::string& name) {
  const File file(name);
  Executable found;
  const auto header = file.at<Elf64_Ehdr>(0);
  found.is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!found.is_elf) return found;
  found.other_machine = header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != this_machine;
  if (found.other_machine) return found;
  const auto section = [&](uint64_t i) { return file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const std::string_view called = file.text(names.sh_offset + each.sh_name);
    found.has_fat_binary |= called == ".nv_fatbin" || called == "__nv_relfatbin";
    const Elf64_Shdr strings = section(each.sh_link);
    if (each.sh_type == SHT_DYNAMIC) {
      for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= each.sh_size; at += sizeof(Elf64_Dyn)) {
        const auto entry = file.at<Elf64_Dyn>(each.sh_offset + at);
        if (entry.d_tag == DT_NEEDED)
          found.links_runtime |= file.text(strings.sh_offset + entry.d_un.d_val).starts_with("libcudart.so");
      }
    } else if (each.sh_type == SHT_SYMTAB) {
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= each.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = file.at<Elf64_Sym>(each.sh_offset + at);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
          found.has_runtime |= file.text(strings.sh_offset + symbol.st_name) == "cudaLaunchKernel";
      }
    }
  }
  return found;
}

}  // namespace ptxsim
