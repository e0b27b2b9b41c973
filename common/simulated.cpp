#include "common/simulated.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>

namespace simulated {

bool active() { return dlsym(RTLD_DEFAULT, "gemmSimVersion") != nullptr; }

std::optional<std::filesystem::path> library() {
    std::error_code failed;
    const auto exe = std::filesystem::read_symlink("/proc/self/exe", failed);
    const auto file = exe.parent_path().parent_path() / "sim" / "libcudart.so.13";
    if (failed || !std::filesystem::exists(file)) return std::nullopt;
    return file;
}

void restart_in_simulator(char** argv) {
    const auto file = library();
    if (file) {
        setenv("LD_LIBRARY_PATH", file->parent_path().c_str(), 1);
        execv("/proc/self/exe", argv);
    }
    std::fprintf(stderr, "cannot start in the simulator\n");
    std::exit(2);
}

void begin() {}
Outcome end() { return {}; }
void print(std::ostream&, const Outcome&) {}

}  // namespace simulated
