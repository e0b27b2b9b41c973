#include "common/harness/whole_file.h"

#include <unistd.h>

#include <fstream>

#include "common/harness/errors.h"

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why, const std::string& option) {
  throw BadInput("cannot write " + file.string() + why + "; choose another " + option + " file");
}

// The file itself where `file` is a link to one, so that renaming does not replace the link.
fs::path behind_links(const fs::path& file) {
  std::error_code failed;
  const fs::path target = fs::canonical(file, failed);
  return failed ? file : target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

void require_writable(const fs::path& file, const std::string& option) {
  std::error_code ignored;
  const fs::path folder = folder_of(file);
  if (!fs::is_directory(folder, ignored)) refuse(file, ": there is no folder " + folder.string(), option);
  if (fs::exists(file, ignored)) {
    if (!fs::is_regular_file(file, ignored)) refuse(file, ": it is not an ordinary file", option);
    if (access(file.c_str(), W_OK) != 0) refuse(file, ": it is write-protected", option);
  }
  if (access(folder_of(behind_links(file)).c_str(), W_OK) != 0) refuse(file, ": its folder is write-protected", option);
}

void write_whole(const fs::path& file, const std::string& text, const std::string& option) {
  require_writable(file, option);
  const fs::path target = behind_links(file);
  const fs::path temporary = target.string() + ".part" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed, ignored;
  if (out) fs::rename(temporary, target, failed);
  if (out && !failed) return;
  fs::remove(temporary, ignored);
  refuse(file, "", option);
}
