#include "millrace/input/sources/file_names.h"

#include <algorithm>
#include <numeric>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/files/whole_path.h"

namespace millrace {

namespace {

std::string described_stream(const std::string& path) {
  return path == "-" ? "standard input" : cat("the pipe ", path);
}

// Whether both are one path, however they are spelt.
bool is_same_path(const std::string& path, const std::string& other) {
  if (path == other || path.empty() || other.empty()) return path == other;
  return whole_path(path) == whole_path(other);
}

std::vector<std::string_view> split_paths(std::string_view text) {
  std::vector<std::string_view> paths;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    paths.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paths;
}

}  // namespace

void ShardOptions::declare(OptionReader& o) {
  o.required("index", index, {.min = 0}, "which share of the files to take, from 0");
  o.required("count", count, {.min = 1}, "how many shares there are");
  if (o.reading() && index >= count) {
    throw o.node("index").error(cat("expected less than count = ", count, ", got ", index), "shards count from 0");
  }
}

void FileNamesOptions::declare(OptionReader& o, std::string_view noun) {
  o.optional("shuffle", shuffle, cat("a fresh order of the ", noun, "s in every epoch"));
  o.in_pass("shuffle", false);
  o.optional("epochs", epochs, {.min = 1, .max = UINT32_MAX},
             cat("how often to read the ", noun, "s; absent: endlessly"));
  o.used_as("epochs", OptionUse::ends);
  o.decides("epochs", Decides::length);
  o.in_pass("epochs", int64_t{1});
  o.optional("shard", shard, cat("take every count-th ", noun, " of each epoch's order, from index on"));
  o.used_as("shard", OptionUse::share);
  o.not_in_pass("shard");
}

Port FileNames::bind(const BindArgs& args) {
  seed_ = args.seed;
  random_stream_ = fnv1a64(args.name);
  source_ = args.source_index;
  files_ = args.files;
  // What is wrong with an input file before the run is a MissingError.
  try {
    for (MatchedFile& file : named_.match(*files_)) add(std::move(file));
  } catch (const MissingError&) {
    throw;
  } catch (const IoError& error) {
    throw MissingError(error.message(), error.place(), error.hint());
  }
  order_.resize(entries_.size() / named_.lists);
  if (files_of_a_pass() == 0) {
    throw ConfigError(cat("shard ", options_.shard->index, " of ", options_.shard->count, " is empty: there ",
                          order_.size() == 1 ? "is " : "are ", count_of(std::ssize(order_), "file")),
                      named_.place);
  }
  rewind(0);
  return {.type = PortType::names};
}

void FileNames::add(MatchedFile file) {
  paths_ += file.path;
  paths_ += '\0';
  auto entry = std::make_shared<FileEntry>();
  entry->size = file.size;
  if (file.is_stream) add_stream(*entry, file.path);
  entry->path = std::move(file.path);
  entry->index = static_cast<uint32_t>(entries_.size());
  entries_.push_back(std::move(entry));
}

void FileNames::add_stream(FileEntry& entry, const std::string& path) {
  const auto twice = [&](const auto& other) { return files_->same(other->path, path); };
  if (std::any_of(entries_.begin(), entries_.end(), twice)) {
    throw ConfigError(cat(described_stream(path), " can be read only once, but is named twice"), named_.place);
  }
  if (options_.epochs.value_or(1) > 1) {
    throw ConfigError(cat(described_stream(path), " can be read only once, not ", *options_.epochs, " times"),
                      named_.place, "write it to a file first, or use cache and repeat");
  }
  entry.stream = std::make_shared<StreamFile>(files_->open_stream(path));
  entry.size = StreamFile::kUnknownSize;
  stream_ = path;
}

bool FileNames::next(Unit& unit) {
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

void FileNames::rewind(uint32_t run) {
  if (!stream_.empty() && (run > 0 || ordinal_ > 0)) {
    throw ConfigError(cat(described_stream(stream_), " can be read only once"), named_.place,
                      "write it to a file first, or put a cache before the repeat");
  }
  pass_ = uint64_t{run} * passes();
  end_pass_ = epochs() ? pass_ + passes() : UINT64_MAX;
  ordinal_ = 0;
}

void FileNames::seek(const Position& position) {
  if (epochs()) rewind(position.pass / static_cast<uint32_t>(*epochs()));
  pass_ = position.pass;
  ordinal_ = position.file_ordinal;
}

void FileNames::make_order() {
  std::iota(order_.begin(), order_.end(), uint32_t{0});
  for (size_t i = order_.size(); options_.shuffle && i-- > 1;) {
    const uint64_t draw = philox64(seed_, random_stream_, pass_ << 32 | i);
    std::swap(order_[i], order_[scale_to(draw, i + 1)]);
  }
  order_pass_ = pass_;
}

Unit FileNames::whole(const std::shared_ptr<const FileEntry>& entry, uint32_t pass) const {
  return {.file = entry, .end = entry->size, .source = source_, .pass = pass, .exact = true, .line = 1};
}

Unit FileNames::unit_of(const RowId& id) const {
  if (id.file >= order_.size()) {
    throw DataError(cat("the saved state holds a row of file ", id.file, ", but there are ", order_.size()));
  }
  return whole(entries_[id.file], id.pass);
}

std::optional<uint64_t> FileNames::pass_size() const {
  if (!stream_.empty()) return {};
  double bytes = 0;
  for (size_t i = 0; i < order_.size(); ++i) bytes += static_cast<double>(entries_[i]->size);
  return static_cast<uint64_t>(bytes * static_cast<double>(files_of_a_pass()) / static_cast<double>(order_.size()));
}

void FileNames::save(State& state) const {
  if (!stream_.empty()) {
    throw ConfigError(cat("the input's state cannot be saved: ", described_stream(stream_), " can be read only once"),
                      named_.place, "write it to a file first");
  }
  if (named_.by_content) {
    const std::vector<FileDigest>& digests = all_digests();
    std::ranges::transform(digests, state.list("first_blocks", digests.size()).begin(), &FileDigest::first);
    std::ranges::transform(digests, state.list("last_blocks", digests.size()).begin(), &FileDigest::last);
  }
  state.set_text("files", paths_);
  std::ranges::transform(entries_, state.list("sizes", entries_.size()).begin(), &FileEntry::size,
                         [](const auto& entry) -> const FileEntry& { return *entry; });
}

void FileNames::check(const State& state) const {
  check_paths(split_paths(state.text("files")));
  const std::vector<uint64_t>& sizes = numbers(state, "sizes");
  const auto expect_same = [](const FileEntry& entry, bool same, const auto&... what) {
    if (same) return;
    throw DataError(cat("the file has changed since the state was saved: ", what...), {entry.path},
                    "a run goes on only with the data that it began with");
  };
  for (size_t i = 0; i < entries_.size(); ++i) {
    const uint64_t now = entries_[i]->size;
    expect_same(*entries_[i], sizes[i] == now, "expected ", sizes[i], " bytes, got ", now);
  }
  if (!named_.by_content) return;
  const std::vector<uint64_t>& firsts = numbers(state, "first_blocks");
  const std::vector<uint64_t>& lasts = numbers(state, "last_blocks");
  const std::vector<FileDigest>& digests = all_digests();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const uint64_t bytes = std::min(entries_[i]->size, FileDigest::kBlockBytes);
    expect_same(*entries_[i], firsts[i] == digests[i].first, "its first ", bytes, " bytes differ");
    expect_same(*entries_[i], lasts[i] == digests[i].last, "its last ", bytes, " bytes differ");
  }
}

// Made when they are first asked for, and then kept: whoever saves often reads no file again. No lock is held while
// files are read, as the file system may be the program's.
const std::vector<FileDigest>& FileNames::all_digests() const {
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

// Throws DataError for the first of the `saved` files that is not in its place, and names it.
void FileNames::check_paths(const std::vector<std::string_view>& saved) const {
  for (size_t i = 0; i < std::max(saved.size(), entries_.size()); ++i) {
    const std::string then(i < saved.size() ? saved[i] : std::string_view());
    const std::string now = i < entries_.size() ? entries_[i]->path : std::string();
    if (is_same_path(then, now)) continue;
    if (!then.empty() && !is_here(then)) {
      throw DataError("the file is gone: it was there when the state was saved", {then});
    }
    const auto is_now = [&](std::string_view path) { return is_same_path(std::string(path), now); };
    if (!now.empty() && std::ranges::none_of(saved, is_now)) {
      throw DataError("the file is new: it was not there when the state was saved", {now});
    }
    throw DataError(cat("the saved state has ", then.empty() ? "no file" : "the file ", then, ", now there is ",
                        now.empty() ? "none" : now));
  }
}

bool FileNames::is_here(const std::string& path) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return is_same_path(entry->path, path); });
}

// One for each file.
const std::vector<uint64_t>& FileNames::numbers(const State& state, std::string_view key) const {
  const std::vector<uint64_t>& values = state.values(key);
  if (values.size() == entries_.size()) return values;
  throw DataError(cat("the saved state has ", count_of(static_cast<int64_t>(entries_.size()), "file"), " and ",
                      values.size(), " ", key));
}

}  // namespace millrace
