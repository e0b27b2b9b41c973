// Files of records: merged, never half-written, refused where they cannot be what they should.

#include <gtest/gtest.h>

#include "common/harness/record.h"
#include "common/harness/schema_json.h"
#include "tests/cpp/refusal.h"
#include "tests/cpp/scratch_folder.h"

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

ordered_json record(const std::string& variant, int m, double ms) {
  ordered_json made = {{"step", "07"}, {"variant", variant}, {"m", m}, {"n", 2}, {"k", 3}, {"ms", ms}};
  made["options"] = ordered_json::object();
  return made;
}

TEST(Merge, PutsANewMeasurementInThePlaceOfTheOldOne) {
  const ScratchFolder folder;
  merge_records(folder / "r.jsonl", {record("x", 1, 0.1), record("y", 1, 0.2), record("x", 2, 0.3)});
  merge_records(folder / "r.jsonl", {record("y", 1, 9.0), record("z", 1, 0.4)});
  EXPECT_EQ(read_records(folder / "r.jsonl"), (std::vector<ordered_json>{record("x", 1, 0.1), record("y", 1, 9.0),
                                                                         record("x", 2, 0.3), record("z", 1, 0.4)}));
  EXPECT_EQ(folder.count(), 1) << "a temporary file was left behind";
}

TEST(Merge, KeepsMeasurementsApartThatDifferInOneRespect) {
  const ScratchFolder folder;
  const ordered_json base = record("x", 1, 0.1);
  std::vector<ordered_json> records = {base};
  const ordered_json schema = ordered_json::parse(SCHEMA_JSON);
  for (const std::string key : schema.at("identity")) {
    records.push_back(base);
    records.back()[key] = "another";
  }
  merge_records(folder / "r.jsonl", records);
  merge_records(folder / "r.jsonl", records);
  EXPECT_EQ(read_records(folder / "r.jsonl").size(), records.size());
}

TEST(CorruptFile, IsRefusedByItsLineAndLeftAlone) {
  const ScratchFolder folder;
  const fs::path file = folder / "r.jsonl";
  for (const char* bad : {"{\"step\":", "[1]", "7", "oops", "null", "{} {}", "\x01"}) {
    const std::string text = record("x", 1, 0.1).dump() + "\n\n" + bad + "\n";
    write_text(file, text);
    const std::string words = file.string() + ":3: not a JSON object; mend or remove the line";
    EXPECT_EQ(refusal([&] { read_records(file); }), words);
    EXPECT_EQ(refusal([&] { require_writable(file); }), words);
    EXPECT_EQ(refusal([&] { merge_records(file, {record("y", 1, 0.1)}); }), words);
    EXPECT_EQ(read_text(file), text);
  }
}

TEST(UnwritableFile, IsRefusedBeforeAnythingIsMeasured) {
  const ScratchFolder folder;
  const auto words = [](const fs::path& file) { return refusal([&] { require_writable(file); }); };
  EXPECT_EQ(words(folder / "no/r.jsonl"), "cannot write " + (folder / "no/r.jsonl").string() + ": there is no folder " +
                                              (folder / "no").string() + "; choose another --json file");
  EXPECT_EQ(words(folder.path()),
            "cannot write " + folder.path().string() + ": it is not an ordinary file; choose another --json file");
  EXPECT_EQ(words("/dev/null"), "cannot write /dev/null: it is not an ordinary file; choose another --json file");
  EXPECT_EQ(words(folder / "new.jsonl"), "(it was not refused)");
  EXPECT_EQ(folder.count(), 0) << "asking must not write";
}

TEST(UnwritableFile, LeavesNothingHalfWritten) {
  const ScratchFolder folder;
  const std::string long_name(250, 'x');  // the temporary file's name would be too long
  EXPECT_EQ(refusal([&] { merge_records(folder / long_name, {record("x", 1, 0.1)}); }),
            "cannot write " + (folder / long_name).string() + "; choose another --json file");
  EXPECT_EQ(folder.count(), 0);
}

}  // namespace
