#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "common/device/check.h"
#include "common/harness/record.h"

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// Two records with the same values of these are of the same measurement.
constexpr std::array IDENTITY = {
    "step",   "variant", "m",    "n",        "k",       "lda",   "ldb",    "ldc",           "a", "acc", "c",
    "layout", "alpha",   "beta", "baseline", "options", "limit", "metric", "swizzle_stride"};

bool same_measurement(const ordered_json& x, const ordered_json& y) {
  return std::all_of(IDENTITY.begin(), IDENTITY.end(),
                     [&](const char* key) { return x.value(key, ordered_json()) == y.value(key, ordered_json()); });
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw BadInput("cannot write " + file.string() + why + "; choose another --json file");
}

// The file itself where `file` is a link to one, so that renaming does not replace the link.
fs::path behind_links(const fs::path& file) {
  std::error_code failed;
  const fs::path target = fs::canonical(file, failed);
  return failed ? file : target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

std::vector<ordered_json> read_records(const fs::path& file) {
  std::vector<ordered_json> records;
  std::error_code failed;
  if (!fs::exists(file, failed)) return records;
  std::ifstream in(file);
  if (!fs::is_regular_file(file, failed) || !in)
    throw BadInput("cannot read " + file.string() + "; choose another --json file");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    ordered_json record = ordered_json::parse(line, nullptr, false);
    if (!record.is_object())
      throw BadInput(file.string() + ":" + std::to_string(number) + ": not a JSON object; mend or remove the line");
    records.push_back(std::move(record));
  }
  return records;
}

void merge_records(const fs::path& file, const std::vector<ordered_json>& records) {
  require_writable(file);
  std::vector<ordered_json> all = read_records(file);
  for (const ordered_json& record : records) {
    const auto old = std::find_if(all.begin(), all.end(), [&](const auto& r) { return same_measurement(r, record); });
    if (old == all.end()) {
      all.push_back(record);
    } else {
      *old = record;
    }
  }
  const fs::path target = behind_links(file);
  const fs::path temporary = target.string() + ".part" + std::to_string(getpid());
  std::ofstream out(temporary);
  for (const ordered_json& record : all) out << record.dump() << '\n';
  out.close();
  std::error_code failed, ignored;
  if (out) fs::rename(temporary, target, failed);
  if (out && !failed) return;
  fs::remove(temporary, ignored);
  refuse(file, "");
}

void require_writable(const fs::path& file) {
  std::error_code ignored;
  const fs::path folder = folder_of(file);
  if (!fs::is_directory(folder, ignored)) refuse(file, ": there is no folder " + folder.string());
  if (fs::exists(file, ignored)) {
    if (!fs::is_regular_file(file, ignored)) refuse(file, ": it is not an ordinary file");
    if (access(file.c_str(), W_OK) != 0) refuse(file, ": it is write-protected");
  }
  if (access(folder_of(behind_links(file)).c_str(), W_OK) != 0) refuse(file, ": its folder is write-protected");
  read_records(file);  // a corrupt file is found now, not after the timing
}
