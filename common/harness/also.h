// The tables of variants that the sources in a step's also/ have added.
#pragma once

#include <map>
#include <string>

#include "common/device/also.h"

/// By the names of their files.
std::multimap<std::string, Also::Added>& also_tables();
