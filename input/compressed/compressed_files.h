// CompressedFiles: the compressed files of one source. It knows which of them are compressed, keeps what was learned
// about each, and saves what helps to go on from the middle of a file.
//
// Thread-safe. A file is looked at when it is first asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/state.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/compressed_text.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

// A place in the text of a file.
struct TextPlace {
  uint32_t file = 0;  // FileEntry::index
  uint64_t offset = 0;
};

class MILLRACE_EXPORT CompressedFiles {
 public:
  struct Settings {
    std::vector<std::shared_ptr<const FileEntry>> entries = {};
    bool index = false;  // keeps points in the file .NAME.index beside the file NAME
  };
  // `files` opens them, for which it is given `open`; both outlive this. Throws IoError if there should be an index
  // where none can be written.
  CompressedFiles(FileSystem& files, OpenFiles& open, Settings settings);

  // Null for a file that is not compressed. Throws IoError if the file cannot be opened, or if its first bytes cannot
  // be read; ConfigError if the build has no library for it.
  CompressedText* text_of(const FileEntry& entry);
  // The same, but null for a file that nobody looked at yet.
  const CompressedText* known_text(const FileEntry& entry) const;
  // Where the offsets in a file end: its size, or the size of its text, unknown at first. A file that cannot be
  // opened counts as one that is not compressed. Not for tasks: it takes a ReadingTurn.
  uint64_t end_of(const FileEntry& entry);
  // The file as it lies on disk. Throws as OpenFiles::get() does.
  std::shared_ptr<const File> raw(const FileEntry& entry) { return open_.get(entry).file; }
  TextResources& shared() { return shared_; }

  // Whether one of the files that were looked at is compressed.
  bool found() const { return found_.load(std::memory_order_relaxed); }
  // Whether a file is compressed, by its content if it was looked at, else by its name.
  bool may_be_compressed(const FileEntry& entry) const;
  // Over all files, if units have about `unit_bytes` bytes.
  TextBounds bounds(uint64_t unit_bytes) const;
  // An upper bound of what save() adds to a state for so many places.
  uint64_t saved_bound(uint64_t places) const;

  // Saves the points from which `places` are read soon, if there are any. restore() throws DataError for points that
  // cannot be.
  void save(State& state, std::span<const TextPlace> places) const;
  void restore(const State& state);

  // Someone came to the end of the text: its size is known, and its index is written.
  void end_text(CompressedText& text, uint64_t size);

 private:
  struct Looked {
    bool known = false;
    std::exception_ptr failure = nullptr;  // of the first look: it is the error of who opens the file
    std::unique_ptr<CompressedText> text = nullptr;
    bool indexed = false;  // its index is there, or need not be
  };
  Looked look_at(const FileEntry& entry);
  bool read_index(CompressedText& text) const;
  void write_index(const CompressedText& text) const;

  FileSystem& files_;
  OpenFiles& open_;
  const Settings settings_;
  TextResources shared_;

  mutable Mutex mutex_;
  std::vector<Looked> looked_ MILLRACE_GUARDED_BY(mutex_);  // by FileEntry::index
  std::atomic<bool> found_{false};
};

}  // namespace millrace
