/// The process that the runtime was loaded into: what its environment asks for.
#pragma once

namespace sim {

/// Writes the trace and the launches where the environment names files for them; says why where that is impossible.
void write_what_was_asked_for();

}  // namespace sim
