// FileNames: names files in every pass, each pass in an order of its own. filename_queue is such an op; a format that
// names its own files has one (FileSource).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/files/matched_files.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/source.h"

namespace millrace {

struct ShardOptions {
  int64_t index = 0;
  int64_t count = 1;
  void declare(OptionReader& o);
};

// The options of everything that names files: which files a pass has, in what order, and how many passes there are.
struct FileNamesOptions {
  bool shuffle = true;
  std::optional<int64_t> epochs = {};
  std::optional<ShardOptions> shard = {};
  // `noun`: what has an order.
  void declare(OptionReader& o, std::string_view noun = "file");
};

// Which files there are.
struct NamedFiles {
  // Gives at least one file. Called once, in FileNames::bind(). An IoError becomes a MissingError.
  std::function<std::vector<MatchedFile>(FileSystem&)> match;
  Place place = {};  // of the key that names the files
  // For formats whose rows lie in several files at once: `match` gives so many lists of equal length, one after
  // another. Only files of the first list are named; files()[i + k * n] belongs to file i of its n. A saved state has
  // all of them.
  size_t lists = 1;
  // Whether a saved state knows the files by some of their bytes, too, besides names and sizes. A million small files
  // would take long to read for that.
  bool by_content = true;
};

class MILLRACE_EXPORT FileNames : public NameSource {
 public:
  FileNames(NamedFiles named, const FileNamesOptions& options) : named_(std::move(named)), options_(options) {}

  // The op's name is the key of the orders.
  Port bind(const BindArgs& args) override;
  bool next(Unit& unit) override;
  // A run's passes follow those of the run before, so each has its own order.
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override;
  void check(const State& state) const override;
  Unit unit_of(const RowId& id) const override;
  Place place(const RowId& id) const override { return {entries_[id.file]->path, static_cast<int64_t>(id.line)}; }
  bool endless() const override { return !epochs(); }
  uint32_t passes() const override { return static_cast<uint32_t>(epochs().value_or(1)); }
  // With shards a pass has other files than the one before: this is the mean over all passes.
  std::optional<uint64_t> pass_size() const override;
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return entries_; }

 private:
  void add(MatchedFile file);
  void add_stream(FileEntry& entry, const std::string& path);
  void make_order();
  Unit whole(const std::shared_ptr<const FileEntry>& entry, uint32_t pass) const;

  const std::vector<FileDigest>& all_digests() const;
  void check_paths(const std::vector<std::string_view>& saved) const;
  bool is_here(const std::string& path) const;
  const std::vector<uint64_t>& numbers(const State& state, std::string_view key) const;

  // Data that come once are one epoch, where nothing else is said.
  std::optional<int64_t> epochs() const { return stream_.empty() ? options_.epochs : std::optional<int64_t>(1); }
  size_t shard_index() const { return options_.shard ? static_cast<size_t>(options_.shard->index) : 0; }
  size_t shard_count() const { return options_.shard ? static_cast<size_t>(options_.shard->count) : 1; }
  size_t files_of_a_pass() const {
    if (shard_index() >= order_.size()) return 0;
    return (order_.size() - shard_index() - 1) / shard_count() + 1;
  }

  const NamedFiles named_;
  const FileNamesOptions options_;
  uint64_t seed_ = 0, random_stream_ = 0;
  uint32_t source_ = 0;
  std::string stream_;                                     // the path of data that come once; empty: there are none
  std::vector<std::shared_ptr<const FileEntry>> entries_;  // as matched
  std::string paths_;                                      // of all entries, as a state holds them

  FileSystem* files_ = nullptr;

  mutable Mutex digests_mutex_;
  mutable std::vector<FileDigest> digests_;  // none or all; guarded by digests_mutex_ until they are there

  uint64_t pass_ = 0, end_pass_ = 0;
  size_t ordinal_ = 0;                // files of this pass that were given out
  std::vector<uint32_t> order_;       // the named files, in the order of pass order_pass_
  uint64_t order_pass_ = UINT64_MAX;  // none yet
};

}  // namespace millrace
