// What values the options of a step's executable take, and what is said of others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// A whole number in a range, both ends included.
CLI::Validator whole(long long least, long long most);

/// A time from 0 to 60 seconds.
CLI::Validator seconds();

/// A finite number that a float holds.
CLI::Validator factor();

/// One of several parts: 2/4.
CLI::Validator part();

/// Anything but an empty text.
CLI::Validator something();

/// One of some words.
CLI::Validator one_of(const std::vector<std::string>& names);
