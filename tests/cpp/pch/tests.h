// What the tests include and what takes longest to read, compiled once (Meson's cpp_pch). Files include what they use
// all the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/harness/session.h"
#include "common/harness/verify.h"
