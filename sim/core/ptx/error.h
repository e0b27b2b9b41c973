/// The one way in which the front end says no.
#pragma once

#include <stdexcept>

namespace sim {

/// PTX, or a binary, that the simulator refuses: what() is one line for the reader.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sim
