// A variant on a GPU: verified, timed against the library, verified again, reported, recorded.
#pragma once

#include "common/report.h"
#include "common/session.h"

/// Returns false, having said where, if a result is wrong: then nothing is recorded. Throws BadInput where the memory
/// does not suffice.
bool measure(const Session& session, ResultTable& table, const Work& work);
