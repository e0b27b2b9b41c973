#include <algorithm>
#include <fstream>

#include "common/harness/errors.h"
#include "common/harness/record.h"
#include "common/harness/schema_json.h"  // made by Meson of records/schema.json
#include "common/harness/whole_file.h"

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* OPTION = "--json";  // that names such files

// Two records with the same values of its `identity` are of the same measurement.
const ordered_json& schema() {
  static const ordered_json read = ordered_json::parse(SCHEMA_JSON);
  return read;
}

bool same_measurement(const ordered_json& x, const ordered_json& y) {
  const ordered_json& identity = schema().at("identity");
  return std::all_of(identity.begin(), identity.end(), [&](const std::string& key) {
    return x.value(key, ordered_json()) == y.value(key, ordered_json());
  });
}

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
  std::string text;
  for (const ordered_json& record : all) text += record.dump() + '\n';
  write_whole(file, text, OPTION);
}

void require_writable(const fs::path& file) {
  require_writable(file, OPTION);
  read_records(file);  // a corrupt file is found now, not after the timing
}
