/// Programs with nvcc's static runtime: preloaded into one, this library leads the program's own cuda* functions to its
/// own, by a jump at the beginning of each. The program's symbol table says where they are.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/errors.h"

namespace {

/// The program's own file, mapped rather than read: every simulated process looks at its symbols, and at little else.
std::span<const char> own_file() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0) return {};
  const auto bytes = static_cast<size_t>(status.st_size);
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return at == MAP_FAILED ? std::span<const char>() : std::span(static_cast<const char*>(at), bytes);
}

/// Where the program itself was loaded: what is added to the addresses in its file.
uint64_t load_address() {
  uint64_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &address);
  return address;
}

/// What a program calls that is not offered here. The name is where the jump has left it.
extern "C" cudaError_t sim_not_offered(const char* name) { return sim::not_supported(name); }

/// Room for machine code that a short jump from `near` reaches.
std::byte* room_near(uint64_t near, size_t bytes) {
  constexpr uint64_t step = uint64_t{1} << 20, reach = uint64_t{1} << 30;
  for (uint64_t away = step; away < reach && away < near; away += step) {
    void* const wanted = reinterpret_cast<void*>((near - away) & ~uint64_t{0xffff});
    void* const got =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) return static_cast<std::byte*>(got);
    if (got != MAP_FAILED) munmap(got, bytes);
  }
  return nullptr;
}

#if defined(__x86_64__)
constexpr size_t trampoline_bytes = 32, jump_bytes = 5;
/// mov $name, %rdi; mov $to, %rax; jmp *%rax. Without a name %rdi stays, the first argument.
void put_trampoline(std::byte* at, uint64_t to, const char* name) {
  if (name) {
    std::memcpy(at, "\x48\xbf", 2), std::memcpy(at + 2, &name, 8);
    at += 10;
  }
  std::memcpy(at, "\x48\xb8", 2), std::memcpy(at + 2, &to, 8), std::memcpy(at + 10, "\xff\xe0", 2);
}
void put_jump(std::byte* at, const std::byte* to) {
  const auto away = static_cast<int32_t>(to - (at + jump_bytes));
  std::memcpy(at, "\xe9", 1), std::memcpy(at + 1, &away, 4);
}
#elif defined(__aarch64__)
constexpr size_t trampoline_bytes = 32, jump_bytes = 4;
/// ldr x0, name; ldr x16, to; br x16.
void put_trampoline(std::byte* at, uint64_t to, const char* name) {
  const uint32_t code[] = {name ? 0x58000080u : 0xd503201fu, 0x580000b0u, 0xd61f0200u, 0xd503201fu};
  std::memcpy(at, code, 16), std::memcpy(at + 16, &name, 8), std::memcpy(at + 24, &to, 8);
}
void put_jump(std::byte* at, const std::byte* to) {
  const uint32_t code = 0x14000000u | (static_cast<uint32_t>((to - at) / 4) & 0x03ffffffu);
  std::memcpy(at, &code, 4);
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
struct Found {
  std::byte* at;
  void* ours;        ///< null: not offered
  const char* name;  ///< lives as long as the process
};

/// This library, whatever else defines the same names.
void* this_library() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&sim_not_offered), &info);
  return info.dli_fname ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
}

/// The functions of a runtime that the program contains.
std::vector<Found> runtime_in(std::span<const char> file, uint64_t base) {
  std::vector<Found> found;
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return found;
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return found;
  const auto section = [&](size_t i) {
    Elf64_Shdr read{};
    const size_t at = header.e_shoff + i * sizeof read;
    if (at + sizeof read <= file.size()) std::memcpy(&read, file.data() + at, sizeof read);
    return read;
  };
  void* const own = this_library();
  bool launches = false;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(table.sh_link);
    if (table.sh_offset + table.sh_size > file.size() || names.sh_offset + names.sh_size > file.size()) continue;
    for (size_t at = table.sh_offset; at + sizeof(Elf64_Sym) <= table.sh_offset + table.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file.data() + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size < jump_bytes ||
          symbol.st_name >= names.sh_size)
        continue;
      const char* const name = file.data() + names.sh_offset + symbol.st_name;
      const std::string_view text = name;
      const bool api = text.size() > 4 && text.starts_with("cuda") && text[4] >= 'A' && text[4] <= 'Z';
      if (!api && !text.starts_with("__cuda")) continue;
      void* const ours = own ? dlsym(own, name) : nullptr;
      const bool of_runtime =
          ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(symbol.st_other) == STV_HIDDEN;
      if (!ours && !(api && of_runtime)) continue;
      launches |= text == "cudaLaunchKernel";
      found.push_back({reinterpret_cast<std::byte*>(base + symbol.st_value), ours, ours ? nullptr : strdup(name)});
    }
  }
  if (!launches) found.clear();  // functions of the program's own that are called like this
  return found;
}

[[gnu::constructor]] void redirect_static_runtime() {
  const std::vector<Found> found = runtime_in(own_file(), load_address());
  if (found.empty()) return;
  const auto [low, high] =
      std::minmax_element(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = reinterpret_cast<uint64_t>(low->at) & ~(page - 1);
  const uint64_t bytes = reinterpret_cast<uint64_t>(high->at) + jump_bytes - first;
  std::byte* const room = room_near(first, found.size() * trampoline_bytes);
  if (!room || mprotect(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    std::fputs("simulator: this program's static runtime cannot be replaced here: link it with nvcc -cudart shared\n",
               stderr);
    std::_Exit(2);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    std::byte* const trampoline = room + i * trampoline_bytes;
    const Found& each = found[i];
    put_trampoline(trampoline,
                   reinterpret_cast<uint64_t>(each.ours ? each.ours : reinterpret_cast<void*>(&sim_not_offered)),
                   each.name);
    put_jump(each.at, trampoline);
  }
  mprotect(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_EXEC);
  mprotect(room, found.size() * trampoline_bytes, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(reinterpret_cast<char*>(first), reinterpret_cast<char*>(first + bytes));
  __builtin___clear_cache(reinterpret_cast<char*>(room),
                          reinterpret_cast<char*>(room + found.size() * trampoline_bytes));
}
#endif

}  // namespace
