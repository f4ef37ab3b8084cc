// SourceOfTexts: compressed files in memory, as a source has them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/compressed/compressed_files.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/op_testing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace::testing_support {

class SourceOfTexts {
 public:
  // Files f0, f1, .. of these bytes.
  explicit SourceOfTexts(const std::vector<std::string>& contents) {
    for (const std::string& bytes : contents) add(cat('f', entries_.size()), bytes);
    start();
  }
  void add(const std::string& path, const std::string& bytes) {
    files.files[path] = bytes;
    entries_.push_back(entry_of(path, bytes.size(), static_cast<uint32_t>(entries_.size())));
  }
  // Forgets what was learned.
  void start() {
    compressed_ = nullptr;
    open_ = std::make_unique<OpenFiles>(files);
    compressed_ = std::make_unique<CompressedFiles>(files, *open_, CompressedFiles::Settings{.entries = entries_});
  }

  CompressedFiles& compressed() { return *compressed_; }
  const std::shared_ptr<const FileEntry>& entry(size_t file = 0) const { return entries_[file]; }
  CompressedText& text(size_t file = 0) { return *compressed_->text_of(*entries_[file]); }
  std::shared_ptr<const File> raw(size_t file = 0) { return compressed_->raw(*entries_[file]); }

  MemoryFiles files;

 private:
  std::vector<std::shared_ptr<const FileEntry>> entries_;
  std::unique_ptr<OpenFiles> open_;
  std::unique_ptr<CompressedFiles> compressed_;
};

}  // namespace millrace::testing_support

#endif
