// filename_queue: gives the files of a run, which are matched once; every epoch has its own order.
//
// The order of pass p over n files, with `shuffle`: start from the matched order; for i = n - 1 down to 1 swap the
// files at i and scale_to(philox64(seed, fnv1a64(name), p * 2^32 + i), i + 1). The order depends on nothing else, so a
// run may begin anywhere.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/catalog.h"
#include "millrace/input/files/matched_files.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/files/whole_path.h"

namespace millrace {

namespace {

struct ShardOptions {
  int64_t index = 0;
  int64_t count = 1;

  void declare(OptionReader& o) {
    o.required("index", index, {.min = 0}, "which share of the files to take, from 0");
    o.required("count", count, {.min = 1}, "how many shares there are");
    if (o.reading() && index >= count) {
      throw o.node("index").error(cat("expected less than count = ", count, ", got ", index), "shards count from 0");
    }
  }
};

struct FilenameQueueOptions {
  std::vector<std::string> files;
  bool shuffle = true;
  std::optional<int64_t> epochs;
  std::optional<ShardOptions> shard;
  Place files_place;

  void declare(OptionReader& o) {
    o.required("files", files, "a path, a pattern (*, ?, [..]), or a list of them");
    o.may_be("files", {{.is = OptionForm::Is::text},
                       {.is = OptionForm::Is::list, .items = option_forms<std::string>(), .not_empty = true}});
    o.used_as("files", OptionUse::files);
    o.optional("shuffle", shuffle, "a fresh order of the files in every epoch");
    o.in_pass("shuffle", false);
    o.optional("epochs", epochs, {.min = 1, .max = UINT32_MAX}, "how often to read the files; absent: endlessly");
    o.used_as("epochs", OptionUse::ends);
    o.decides("epochs", Decides::length);
    o.in_pass("epochs", int64_t{1});
    o.optional("shard", shard, "take every count-th file of each epoch's order, from index on");
    o.used_as("shard", OptionUse::share);
    o.not_in_pass("shard");
    if (!o.reading()) return;
    files_place = o.node("files").place();
    if (files.empty()) throw o.node("files").error("expected at least one file or pattern, got an empty list");
  }
};

class FilenameQueue final : public NameSource {
 public:
  using Options = FilenameQueueOptions;
  static constexpr std::string_view kLeads = "nothing to names";
  static constexpr std::string_view kDoc = "names the files to read, in a fresh order in every epoch";
  static constexpr std::string_view kExample = "files: \"data/*.csv\", epochs: 2";

  explicit FilenameQueue(Options options) : options_(std::move(options)) {}

  Port bind(const BindArgs& args) override {
    seed_ = args.seed;
    random_stream_ = fnv1a64(args.name);
    source_ = args.source_index;
    files_ = args.files;
    // A fault of an input file before the run is a MissingError.
    try {
      for (MatchedFile& file : match_files(options_.files, options_.files_place, *files_)) add(std::move(file));
    } catch (const MissingError&) {
      throw;
    } catch (const IoError& error) {
      throw MissingError(error.message(), error.place(), error.hint());
    }
    order_.resize(entries_.size());
    if (files_of_a_pass() == 0) {
      throw ConfigError(
          cat("shard ", options_.shard->index, " of ", options_.shard->count, " is empty: there ",
              entries_.size() == 1 ? "is " : "are ", count_of(static_cast<int64_t>(entries_.size()), "file")),
          options_.files_place);
    }
    rewind(0);
    return {.type = PortType::names};
  }

  bool next(Unit& unit) override {
    if (ordinal_ >= files_of_a_pass()) {
      ++pass_;
      ordinal_ = 0;
    }
    if (pass_ >= end_pass_) return false;
    if (order_pass_ != pass_) make_order();
    unit = whole(entries_[order_[shard_index() + ordinal_ * shard_count()]], static_cast<uint32_t>(pass_));
    unit.file_ordinal = static_cast<uint32_t>(ordinal_++);
    return true;
  }

  // The passes are numbered on from the run before, so each has its own order.
  void rewind(uint32_t run) override {
    if (!stream_.empty() && (run > 0 || ordinal_ > 0)) {
      throw ConfigError(cat(described(stream_), " can be read only once"), options_.files_place,
                        "write it to a file first, or put a cache before the repeat");
    }
    pass_ = uint64_t{run} * passes();
    end_pass_ = epochs() ? pass_ + passes() : UINT64_MAX;
    ordinal_ = 0;
  }

  void seek(const Position& position) override {
    if (epochs()) rewind(position.pass / static_cast<uint32_t>(*epochs()));
    pass_ = position.pass;
    ordinal_ = position.file_ordinal;
  }

  void save(State& state) const override {
    if (!stream_.empty()) {
      throw ConfigError(cat("the input's state cannot be saved: ", described(stream_), " can be read only once"),
                        options_.files_place, "write it to a file first");
    }
    const std::vector<FileDigest>& digests = all_digests();
    state.set_text("files", paths_);
    const std::span<uint64_t> sizes = state.list("sizes", entries_.size());
    const std::span<uint64_t> firsts = state.list("first_blocks", entries_.size());
    const std::span<uint64_t> lasts = state.list("last_blocks", entries_.size());
    for (size_t i = 0; i < entries_.size(); ++i) {
      sizes[i] = entries_[i]->size;
      firsts[i] = digests[i].first;
      lasts[i] = digests[i].last;
    }
  }

  void check(const State& state) const override {
    check_paths(split_paths(state.text("files")));
    const std::vector<uint64_t>& sizes = numbers(state, "sizes");
    const std::vector<uint64_t>& firsts = numbers(state, "first_blocks");
    const std::vector<uint64_t>& lasts = numbers(state, "last_blocks");
    const auto expect_same = [](const FileEntry& entry, bool same, const auto&... what) {
      if (same) return;
      throw DataError(cat("the file has changed since the state was saved: ", what...), {entry.path},
                      "a run goes on only with the data that it began with");
    };
    for (size_t i = 0; i < entries_.size(); ++i) {
      const uint64_t now = entries_[i]->size;
      expect_same(*entries_[i], sizes[i] == now, "expected ", sizes[i], " bytes, got ", now);
    }
    const std::vector<FileDigest>& digests = all_digests();
    for (size_t i = 0; i < entries_.size(); ++i) {
      const uint64_t bytes = std::min(entries_[i]->size, FileDigest::kBlockBytes);
      expect_same(*entries_[i], firsts[i] == digests[i].first, "its first ", bytes, " bytes differ");
      expect_same(*entries_[i], lasts[i] == digests[i].last, "its last ", bytes, " bytes differ");
    }
  }

  Unit unit_of(const RowId& id) const override {
    if (id.file >= entries_.size()) {
      throw DataError(cat("the saved state holds a row of file ", id.file, ", but there are ", entries_.size()));
    }
    return whole(entries_[id.file], id.pass);
  }
  Place place(const RowId& id) const override { return {entries_[id.file]->path, static_cast<int64_t>(id.line)}; }
  bool endless() const override { return !epochs(); }
  uint32_t passes() const override { return static_cast<uint32_t>(epochs().value_or(1)); }
  // With shards each pass has other files, so this is the mean over all passes.
  std::optional<uint64_t> pass_size() const override {
    if (!stream_.empty()) return {};
    double bytes = 0;
    for (const auto& entry : entries_) bytes += static_cast<double>(entry->size);
    return static_cast<uint64_t>(bytes * static_cast<double>(files_of_a_pass()) / static_cast<double>(entries_.size()));
  }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return entries_; }

 private:
  void add(MatchedFile file) {
    auto entry = std::make_shared<FileEntry>();
    entry->size = file.size;
    if (file.is_stream) add_stream(*entry, file.path);
    paths_ += file.path;
    paths_ += '\0';
    entry->path = std::move(file.path);
    entry->index = static_cast<uint32_t>(entries_.size());
    entries_.push_back(std::move(entry));
  }

  void add_stream(FileEntry& entry, const std::string& path) {
    const auto twice = [&](const auto& other) { return files_->same(other->path, path); };
    if (std::any_of(entries_.begin(), entries_.end(), twice)) {
      throw ConfigError(cat(described(path), " can be read only once, but is named twice"), options_.files_place);
    }
    if (options_.epochs.value_or(1) > 1) {
      throw ConfigError(cat(described(path), " can be read only once, not ", *options_.epochs, " times"),
                        options_.files_place, "write it to a file first, or use cache and repeat");
    }
    entry.stream = std::make_shared<StreamFile>(files_->open_stream(path));
    entry.size = StreamFile::kUnknownSize;
    stream_ = path;
  }

  // They are made at the first call and then kept, so that later calls read no file. No lock is held while files are
  // read, because the program may provide the file system.
  const std::vector<FileDigest>& all_digests() const {
    {
      const MutexLock lock(digests_mutex_);
      if (digests_.size() == entries_.size()) return digests_;
    }
    std::vector<FileDigest> digests;
    for (const auto& entry : entries_) digests.push_back(digest_of(*entry, *files_));
    const MutexLock lock(digests_mutex_);
    if (digests_.empty()) digests_ = std::move(digests);
    return digests_;
  }

  static std::vector<std::string_view> split_paths(std::string_view text) {
    std::vector<std::string_view> paths;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\0'), text.size());
      paths.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return paths;
  }

  // Throws DataError, which names the file, for the first place in which `saved` and the files of this run differ.
  void check_paths(const std::vector<std::string_view>& saved) const {
    for (size_t i = 0; i < std::max(saved.size(), entries_.size()); ++i) {
      const std::string then(i < saved.size() ? saved[i] : std::string_view());
      const std::string now = i < entries_.size() ? entries_[i]->path : std::string();
      if (is_same(then, now)) continue;
      if (!then.empty() && !is_here(then)) {
        throw DataError("the file is gone: it was there when the state was saved", {then});
      }
      const auto is_now = [&](std::string_view path) { return is_same(std::string(path), now); };
      if (!now.empty() && std::ranges::none_of(saved, is_now)) {
        throw DataError("the file is new: it was not there when the state was saved", {now});
      }
      throw DataError(cat("the saved state has ", then.empty() ? "no file" : "the file ", then, ", now there is ",
                          now.empty() ? "none" : now));
    }
  }
  // Whether both are one path, however they are spelt.
  static bool is_same(const std::string& path, const std::string& other) {
    if (path == other || path.empty() || other.empty()) return path == other;
    return whole_path(path) == whole_path(other);
  }
  bool is_here(const std::string& path) const {
    return std::ranges::any_of(entries_, [&](const auto& entry) { return is_same(entry->path, path); });
  }

  // The numbers saved under `key`. Throws DataError unless there is one for each file.
  const std::vector<uint64_t>& numbers(const State& state, std::string_view key) const {
    const std::vector<uint64_t>& values = state.values(key);
    if (values.size() == entries_.size()) return values;
    throw DataError(cat("the saved state has ", count_of(static_cast<int64_t>(entries_.size()), "file"), " and ",
                        values.size(), " ", key));
  }

  static std::string described(const std::string& path) {
    return path == "-" ? "standard input" : cat("the pipe ", path);
  }
  // Data that come once are one epoch.
  std::optional<int64_t> epochs() const { return stream_.empty() ? options_.epochs : std::optional<int64_t>(1); }

  size_t shard_index() const { return options_.shard ? static_cast<size_t>(options_.shard->index) : 0; }
  size_t shard_count() const { return options_.shard ? static_cast<size_t>(options_.shard->count) : 1; }
  size_t files_of_a_pass() const {
    if (shard_index() >= entries_.size()) return 0;
    return (entries_.size() - shard_index() - 1) / shard_count() + 1;
  }

  void make_order() {
    std::iota(order_.begin(), order_.end(), uint32_t{0});
    for (size_t i = order_.size(); options_.shuffle && i-- > 1;) {
      const uint64_t draw = philox64(seed_, random_stream_, pass_ << 32 | i);
      std::swap(order_[i], order_[scale_to(draw, i + 1)]);
    }
    order_pass_ = pass_;
  }

  Unit whole(const std::shared_ptr<const FileEntry>& entry, uint32_t pass) const {
    return {.file = entry, .end = entry->size, .source = source_, .pass = pass, .exact = true, .line = 1};
  }

  const Options options_;
  uint64_t seed_ = 0, random_stream_ = 0;
  uint32_t source_ = 0;
  std::string stream_;                                     // the path of the data that come once; empty: there are none
  std::vector<std::shared_ptr<const FileEntry>> entries_;  // as matched
  std::string paths_;                                      // of all entries, as a state holds them

  FileSystem* files_ = nullptr;

  mutable Mutex digests_mutex_;
  mutable std::vector<FileDigest> digests_;  // empty, or one for each file; guarded by digests_mutex_ while empty

  uint64_t pass_ = 0, end_pass_ = 0;
  size_t ordinal_ = 0;                // files of this pass that were given out
  std::vector<uint32_t> order_;       // the order in pass order_pass_
  uint64_t order_pass_ = UINT64_MAX;  // this value: there is no order yet
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(filename_queue, FilenameQueue);
