// A variant in the simulator: checked, then counted.
#pragma once

#include "common/harness/session.h"

/// Returns false, having said what, if a result is wrong or the simulator reports a race or a bad access: then nothing
/// is recorded. Throws BadInput where the memory does not suffice.
bool count(const Session& session, const Work& work);
