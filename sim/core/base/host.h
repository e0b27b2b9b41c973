/// What depends on the host's processor and on how the simulator is compiled.
#pragma once

#ifdef __has_feature
#define CLANG_HAS(feature) __has_feature(feature)
#else
#define CLANG_HAS(feature) 0
#endif

/// Before a function: compiled several times, for the newest vector instructions that the host has. Elsewhere than on
/// x86-64 the baseline has them. Not without optimisation, which inlines what vectors are passed to, and not under a
/// sanitizer: that of threads begins after the choice is made.
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && \
    !CLANG_HAS(thread_sanitizer) && !CLANG_HAS(address_sanitizer)
#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define WITH_THE_HOSTS_VECTORS
#endif

/// Whether std::fma is an instruction, or a library's function that is right. WebAssembly has none.
#ifdef __wasm__
#define HOST_HAS_FMA 0
#else
#define HOST_HAS_FMA 1
#endif
