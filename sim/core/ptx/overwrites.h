/// Whether a kernel can write to shared memory what other lanes of the same warp have just read.
#pragma once

#include "core/ptx/syntax.h"

namespace sim::ptx {

/// Whether on some way through the code (its calls expanded) a write that may go to shared memory follows a plain load
/// from there, with nothing between that brings the lanes together. Where it is false, nobody need know which lane
/// reads what.
bool may_overwrite_reads(const Function& function);

}  // namespace sim::ptx
