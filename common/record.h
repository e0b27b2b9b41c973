// JSON Lines records: the only source of every chart and table.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/gpu.h"
#include "common/timing.h"
#include "common/verify.h"

/// What names a measurement: step, variant, types, layout, size, scaling.
nlohmann::ordered_json identity_record(const std::string& step, const Variant& variant, bool is_default,
                                       const Shape& shape);

/// A timed measurement; the keys are described in CONTRIBUTING.md.
nlohmann::ordered_json timing_record(const std::string& step, const Variant& variant, bool is_default,
                                     const Shape& shape, const LaunchOptions& options, const Timing& timing,
                                     const std::string& baseline, const Comparison& verified, const Gpu& gpu);

/// A variant as `--list --json` writes it.
nlohmann::ordered_json variant_record(const std::string& step, const Variant& variant, bool is_default);

/// 2 m n k / ms, in TFLOPS.
double tflops(const Shape& shape, double ms);

/// Reads a JSON Lines file; a missing file has no records. Throws BadInput naming the file and the line that is corrupt.
std::vector<nlohmann::ordered_json> read_records(const std::filesystem::path& file);

/// Adds records to a file, each in the place of an older one of the same measurement. Writes a temporary file and
/// renames it, so that nothing is ever half-written. Throws BadInput where that is impossible.
void merge_records(const std::filesystem::path& file, const std::vector<nlohmann::ordered_json>& records);

/// Throws BadInput where merge_records would: before an hour of timing, not after it.
void require_writable(const std::filesystem::path& file);
