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
  // `files` opens them, for which it is given `open`; both outlive this.
  CompressedFiles(FileSystem& files, OpenFiles& open, Settings settings);
  ~CompressedFiles();

  // Null for a file that is not compressed, or whose first bytes cannot be read. Throws IoError if the file cannot be
  // opened; ConfigError if the build has no library for it.
  CompressedText* text_of(const FileEntry& entry);
  // Throws the same, and IoError if the first bytes cannot be read.
  bool is_compressed(const FileEntry& entry);
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
  bool any() const;
  // Upper bounds: the text that a task reads at once, if `unit_bytes` are usual; the memory of a decoder; the memory
  // for points. 0 if no file may be compressed.
  uint64_t most_range(uint64_t unit_bytes) const;
  uint64_t decoder_memory() const;
  uint64_t point_memory() const;
  // An upper bound of what save() adds to a state for so many places.
  uint64_t saved_bound(uint64_t places) const;

  // Saves the points from which `places` are read soon, if there are any. restore() throws DataError for points that
  // cannot be.
  void save(State& state, std::span<const TextPlace> places) const;
  void restore(const State& state);

  // Someone came to the end of the text: its size is known, and its index is written.
  void end_text(CompressedText& text, uint64_t size);
  // Things to tell about indexes, once each.
  std::vector<std::string> take_notes();

 private:
  struct Looked {
    bool known = false;
    // An error of the first look is the error of who opens or reads the file.
    std::exception_ptr open_failure = nullptr, read_failure = nullptr;
    std::unique_ptr<CompressedText> text = nullptr;
    bool indexed = false;  // its index is there, or need not be
  };
  template <class Body>
  void for_each_text(const Body& body) const;
  Looked look_at(const FileEntry& entry);
  std::vector<TextPoint> points_of(uint32_t file) const;
  bool read_index(CompressedText& text);
  void write_index(const CompressedText& text);
  void no_index(const Error& error);
  void tell(std::string note);

  FileSystem& files_;
  OpenFiles& open_;
  const Settings settings_;
  TextResources shared_;

  mutable Mutex mutex_;
  std::vector<Looked> looked_ MILLRACE_GUARDED_BY(mutex_);  // by FileEntry::index
  std::vector<std::string> notes_ MILLRACE_GUARDED_BY(mutex_);
  bool writes_ MILLRACE_GUARDED_BY(mutex_) = true;  // no index failed to be written
  std::atomic<bool> found_{false};
};

}  // namespace millrace
