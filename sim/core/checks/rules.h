/// Which rule an error breaks, kind by kind.
#pragma once

#include "core/checks/reports.h"

namespace sim {

/// The section that has the rule, by its title, and what it says, in our words. Empty for what is never an error.
const char* rule(Finding kind);

}  // namespace sim
