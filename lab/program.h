// What the programs that measure have in common: their exit codes, and how they say what is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "common/harness/errors.h"

constexpr int EXIT_FAILED = 1, EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77;

/// Parses the arguments, then runs. What goes wrong is one line of the standard error, which begins with `name`.
/// Returns the exit code.
inline int run_program(const char* name, CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  const auto failed = [name](int code, const char* what, const char* help = "") {
    std::cerr << name << ": " << what << help << "\n";
    return code;
  };
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& error) {
    return failed(EXIT_BAD_INPUT, error.what(), "; --help lists the options");
  } catch (const BadInput& error) {
    return failed(EXIT_BAD_INPUT, error.what());
  } catch (const std::exception& error) {
    return failed(EXIT_FAILED, error.what());
  }
}
