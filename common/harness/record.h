// What one measurement leaves behind, and the files of such records, JSON Lines that are never half-written: the only
// source of every chart and table.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/gpu.h"
#include "common/harness/shape.h"
#include "common/harness/timing.h"
#include "common/harness/verify.h"

/// What names a measurement: step, variant, types, layout, size, scaling.
nlohmann::ordered_json identity_record(const std::string& step, const Variant& variant, bool is_default,
                                       const Shape& shape);

/// What a launch was told beside the problem; empty where it was told nothing.
nlohmann::ordered_json options_record(const LaunchOptions& options);

/// A timed measurement as records, one for each baseline that it was made against, or one with "none"; the keys are
/// described in CONTRIBUTING.md.
std::vector<nlohmann::ordered_json> timing_records(const std::string& step, const Variant& variant, bool is_default,
                                                   const Shape& shape, const LaunchOptions& options,
                                                   const Timing& timing, const Comparison& verified, const Gpu& gpu);

/// How fast an instruction is when nothing else is in its way; `flop`: of one timed call.
nlohmann::ordered_json limit_record(const std::string& name, DType ab, DType acc, double flop, const Timing& timing,
                                    const Gpu& gpu);

/// Adds on which GPU, in what state where that is known, of which commit and when a record was measured.
void add_machine(nlohmann::ordered_json& record, const std::optional<Telemetry>& state, const Gpu& gpu);

/// A variant as `--list --json` writes it.
nlohmann::ordered_json variant_record(const std::string& step, const Variant& variant, bool is_default);

/// Reads a JSON Lines file; a missing file has no records. Throws BadInput naming the file and the line that is
/// corrupt, or the file that cannot be read.
std::vector<nlohmann::ordered_json> read_records(const std::filesystem::path& file);

/// Adds records to a file, each in the place of an older one of the same measurement. Writes a temporary file and
/// renames it, so that nothing is ever half-written. Throws BadInput where that is impossible.
void merge_records(const std::filesystem::path& file, const std::vector<nlohmann::ordered_json>& records);

/// Throws BadInput where merge_records would: before an hour of timing, not after it.
void require_writable(const std::filesystem::path& file);
