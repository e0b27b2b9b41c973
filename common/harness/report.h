// What a person reads: the table of results, the list of variants, corners of matrices.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "common/harness/session.h"

/// Prints results as they come, one line each, under a heading that is printed again where the columns change.
class ResultTable {
 public:
  ResultTable(std::ostream& out, std::string step, const Gpu& gpu) : out_(out), step_(std::move(step)), gpu_(gpu) {}

  /// The gain is over the best result so far of the same size and types.
  void add(const Work& work, const Timing& timing, const Comparison& verified);

 private:
  struct Best {
    DType type;
    int m, n, k;
    double tflops;
  };
  std::string gain(const Work& work, double speed);

  std::ostream& out_;
  std::string step_, heading_;
  const Gpu& gpu_;
  std::vector<Best> best_;
};

/// Every variant: name, types, layout, the sizes it takes, whether the GPU holds it, the published kernels it covers.
void print_variants(std::ostream& out, const Session& session);

/// Says which variant is wrong, on what and where, if it is. Returns whether all is well.
bool report_verdict(std::ostream& out, const Work& work, const Comparison& found, const char* when);

/// One line: step, variant, size, and a hash of the bits of C. Equal on two machines if the results are.
void print_fingerprint(std::ostream& out, const std::string& step, const Work& work, const Matrices& matrices);

/// The upper left 8 x 8 of A, B and C.
void print_corners(std::ostream& out, const Matrices& matrices);
