/// What a program may ask the simulator beyond the CUDA runtime's own interface. Looked up with dlsym: a program that
/// finds gemmSimVersion runs in the simulator.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface: 1.
int gemmSimVersion(void);

/// Forgets what was counted and reported.
void gemmSimReset(void);

/// What was counted and reported since the start or the last reset, as JSON; valid until the next call. Who asks takes
/// care of the reports: without, a process that has any prints them and exits with code 1.
///
///     {"kernels": [{"name", "launches", "seconds", "grid": [x,y,z],
///                   "block": [x,y,z], "counts": {…},
///                   "lines": [{"file", "line", "counts": {…}}]}],
///      "reports": [{"kind", "kernel", "message"}]}
const char* gemmSimReport(void);

/// Counting and checking on (1, as at the start) or off (0): off is for measuring what they cost, and checks nothing at
/// all.
void gemmSimWatch(int on);

/// Traces what the first requests of a warp touch, in the first launch of each kernel from now on (1), or nothing more
/// (0, as at the start). What was traced before is forgotten. Needs counting on.
void gemmSimTrace(int on);

/// What was traced, as JSON (docs/simulator.md); valid until the next call.
const char* gemmSimTraceText(void);

#ifdef __cplusplus
}
#endif
