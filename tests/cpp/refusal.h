// What the harness says when it refuses something.
#pragma once

#include <string>

#include "common/harness/errors.h"

/// The words of the BadInput that `action` throws; a text that no refusal has where it throws nothing.
template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(it was not refused)";
}
