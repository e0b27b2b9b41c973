/// What depends on the host's processor and on how the simulator is compiled.
#pragma once

#ifdef __has_feature
#define CLANG_HAS(feature) __has_feature(feature)
#else
#define CLANG_HAS(feature) 0
#endif

/// Before a function: compiled several times, for the newest vector instructions that the host has. Elsewhere than on
/// x86-64 the baseline has them. Not under the thread sanitizer, which begins after the choice is made.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !CLANG_HAS(thread_sanitizer)
#define WITH_THE_HOSTS_VECTORS [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define WITH_THE_HOSTS_VECTORS
#endif
