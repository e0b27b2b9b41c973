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

/// What was counted and reported since the start or the last reset, as JSON; valid until the next call. Who asks, or
/// has called any of the functions above, takes care of the reports: without, a process that has any prints them and
/// exits with code 1.
///
///     {"version": 1,
///      "kernels": [{"name", "launches", "seconds", "grid": [x,y,z],
///                   "block": [x,y,z], "counts": {…},
///                   "lines": [{"file", "line", "counts": {…}}]}],
///      "reports": [{"kind", "kernel", "message", "times", "lines": [here, there], "rule"}],
///      "warnings": as the reports, without "rule": what is doubtful, or does no harm here,
///      "mistakes": [{"text", "warning"}]: both as they are printed, one for each mistake, causes first}
const char* gemmSimReport(void);

/// The "mistakes" of gemmSimReport alone, for who runs many launches and asks only whether they were right.
const char* gemmSimMistakes(void);

/// Counting and checking on (1, as at the start) or off (0): off is for measuring what they cost, and checks nothing at
/// all.
void gemmSimWatch(int on);

/// Launches from now on draw the order of blocks, warps and copies by lot, the same for the same number; 0: in order.
void gemmSimSeed(unsigned long long seed);

/// Why the last call of the driver's interface that this thread made was refused; null where the code says it all.
/// From the first call on, nothing of that is printed.
const char* gemmSimWhy(void);

/// From a call with 1 to one with 0, Ctrl-C ends a launch that is under way, with what was found until then, before the
/// process's own handler of SIGINT is called; without one, nothing changes. Whether a launch was ended so.
int gemmSimInterruptible(int on);

/// Traces what the first requests of a warp touch, in the first launch of each kernel from now on (1), or nothing more
/// (0, as at the start). What was traced before is forgotten. Needs counting on.
void gemmSimTrace(int on);

/// What was traced, as JSON (docs/simulator-reference.md); valid until the next call.
const char* gemmSimTraceText(void);

#ifdef __cplusplus
}
#endif
