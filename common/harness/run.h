// What is done with a variant: measured on a GPU, counted in the simulator, or only checked.
#pragma once

#include "common/harness/report.h"
#include "common/harness/session.h"

/// On a GPU: verified, timed against the library, verified again, reported, recorded. Returns false, having said where,
/// if a result is wrong: then nothing is recorded. Throws BadInput where the memory does not suffice.
bool measure(const Session& session, ResultTable& table, const Work& work);

/// For profilers and for comparing bits: one launch on random inputs, checked as asked, C's fingerprint printed,
/// nothing timed or recorded. Returns false, having said where, if the result is wrong.
bool launch_once(const Session& session, const Work& work);

/// In the simulator: checked, then counted. Returns false, having said what, if a result is wrong or the simulator
/// reports a race or a bad access: then nothing is recorded. Throws BadInput where the memory does not suffice.
bool count(const Session& session, const Work& work);

/// Verifies every case of the file that --check names, on a GPU or in the simulator: many small problems in one
/// process. Each line of the file is a case: {"arguments": ["--variant", "t8x8", "--m", "128", …]}, and with
/// "refused": "…" one that has to be refused with these words. Says what became of each variant, one line for each case
/// that failed, and a total. Returns whether all went well. Throws BadInput where the file is not such a file.
bool check_cases(Session& session);
