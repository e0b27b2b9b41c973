// Files of records: JSON Lines, never half-written.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

/// Reads a JSON Lines file; a missing file has no records. Throws BadInput naming the file and the line that is
/// corrupt, or the file that cannot be read.
std::vector<nlohmann::ordered_json> read_records(const std::filesystem::path& file);

/// Adds records to a file, each in the place of an older one of the same measurement. Writes a temporary file and
/// renames it, so that nothing is ever half-written. Throws BadInput where that is impossible.
void merge_records(const std::filesystem::path& file, const std::vector<nlohmann::ordered_json>& records);

/// Throws BadInput where merge_records would: before an hour of timing, not after it.
void require_writable(const std::filesystem::path& file);
