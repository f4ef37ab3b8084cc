#include "millrace/cli/verify/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw IoError(cat("cannot make the folder: ", errno_text(failure.value())), {path});
}

std::string make_temporary() {
  const char* const folder = std::getenv("TMPDIR");
  const std::string place = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  std::string path = cat(place, "/millrace-verify-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    throw IoError(cat("cannot make a folder for the trainings: ", errno_text(errno)), {place},
                  "set TMPDIR to a folder that can be written");
  }
  return path;
}

void make_kept(const std::string& path) {
  std::error_code failure;
  const bool is_empty = fs::is_empty(path, failure);
  if (!failure && !is_empty) throw UsageError(cat("--keep ", quote(path, 4096), ": the folder is not empty"));
  make_folder(path);
}

}  // namespace

WorkFolder::WorkFolder(const std::string& keep) : path_(keep), keeps_(!keep.empty()) {
  if (keeps_) {
    make_kept(path_);
  } else {
    path_ = make_temporary();
  }
}

WorkFolder::~WorkFolder() { remove(path_); }

std::string WorkFolder::make(const std::string& name) const {
  std::string path = cat(path_, '/', name);
  make_folder(path);
  return path;
}

void WorkFolder::remove(const std::string& path) const {
  std::error_code ignored;
  if (!keeps_) fs::remove_all(path, ignored);
}

}  // namespace millrace::cli
