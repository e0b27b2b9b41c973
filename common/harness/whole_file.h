// Files that are written whole or not at all.
#pragma once

#include <filesystem>
#include <string>

/// Throws BadInput where write_whole would: before an hour of work, not after it. `option`: what named the file.
void require_writable(const std::filesystem::path& file, const std::string& option);

/// Writes a temporary file and renames it, so that nothing is ever half-written. Throws BadInput where that is
/// impossible.
void write_whole(const std::filesystem::path& file, const std::string& text, const std::string& option);
