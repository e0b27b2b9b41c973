/// The end of a process that has run kernels.
#pragma once

namespace sim {

/// From now on the process tells what was found, whatever ends it: a return from main, an abort, Ctrl-C. Called by
/// whatever a program does first.
void watch_the_end();

/// Called after a launch: says what was new, and ends the process where it was interrupted.
void after_launch();

/// From now on, until it is called with false, Ctrl-C ends the launch under way before whoever else wants to know of it
/// is told: for a host that handles the signal after the call, as Python does. Whether a launch was ended so.
bool let_interrupt(bool on);

}  // namespace sim
