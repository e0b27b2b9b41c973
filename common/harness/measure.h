// A variant on a GPU: verified, timed against the library, verified again, reported, recorded.
#pragma once

#include "common/harness/report.h"
#include "common/harness/session.h"

/// For profilers and for comparing bits: one launch on random inputs, checked as asked, C's fingerprint printed,
/// nothing timed or recorded. Returns false, having said where, if the result is wrong.
bool launch_once(const Session& session, const Work& work);

/// Returns false, having said where, if a result is wrong: then nothing is recorded. Throws BadInput where the memory
/// does not suffice.
bool measure(const Session& session, ResultTable& table, const Work& work);
