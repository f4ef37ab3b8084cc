#include "millrace/input/compressed/compressed_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// More than any index that write_index() makes.
constexpr uint64_t kMostIndex = 2 * TextResources::kOfFile;
// Input, state and window of zlib; input, state and a block of zstd.
constexpr uint64_t kGzipMemory = 131072, kZstdMemory = 524288;

constexpr std::string_view kPoints = "points", kWindows = "windows";

// "d/.a.csv.gz.index" for "d/a.csv.gz".
std::string index_path(const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // 0 without a folder
  return cat(path.substr(0, name), '.', path.substr(name), ".index");
}

// A point has these: file, text, at, bits, crc, length, and the size of its window, which lies behind the windows
// before.
constexpr size_t kNumbers = 7;

class SavedPoints {
 public:
  bool empty() const { return numbers_.empty(); }
  void add(uint64_t file, const TextPoint& point) {
    const size_t window = point.window ? point.window->size() : 0;
    numbers_.insert(numbers_.end(), {file, point.text, point.at, point.bits, point.crc, point.length, window});
    if (window > 0) windows_ += *point.window;
  }
  void move_to(State& state) {
    state.set(kPoints, std::move(numbers_));
    state.set_text(kWindows, std::move(windows_));
  }

 private:
  std::vector<uint64_t> numbers_;
  std::string windows_;
};

// Calls body(file, point) for each saved point.
template <class Body>
void for_each_point(const State& state, const Body& body) {
  constexpr uint64_t kMost = StreamFile::kUnknownSize - 1;
  const std::vector<uint64_t>& numbers =
      state.counts(kPoints, {UINT32_MAX, kMost, kMost, 7, UINT32_MAX, UINT32_MAX, UINT32_MAX});
  std::string_view windows = state.text(kWindows);
  for (size_t i = 0; i < numbers.size(); i += kNumbers) {
    const uint64_t* const number = &numbers[i];
    TextPoint point = {.text = number[1],
                       .at = number[2],
                       .bits = static_cast<uint8_t>(number[3]),
                       .crc = static_cast<uint32_t>(number[4]),
                       .length = static_cast<uint32_t>(number[5])};
    const auto size = static_cast<size_t>(number[6]);
    if (size > windows.size()) throw DataError("the saved places in compressed data are cut off");
    if (size > 0) {
      point.window = std::make_shared<const std::string>(windows.substr(0, size));
      point.at_line = windows[size - 1] == '\n';
      windows.remove_prefix(size);
    }
    body(number[0], point);
  }
}

}  // namespace

CompressedFiles::CompressedFiles(FileSystem& files, OpenFiles& open, Settings settings)
    : files_(files), open_(open), settings_(std::move(settings)), looked_(settings_.entries.size()) {
  if (!settings_.index) return;
  const auto first = std::ranges::find_if(settings_.entries, [&](const auto& one) { return may_be_compressed(*one); });
  if (first == settings_.entries.end()) return;
  const std::string path = index_path((*first)->path);
  try {
    if (files_.type(path) == FileSystem::Type::none) check_writable(path);
  } catch (const IoError& error) {
    no_index(error);
  }
}

CompressedFiles::~CompressedFiles() = default;

CompressedText* CompressedFiles::text_of(const FileEntry& entry) {
  if (entry.stream) return nullptr;
  {
    const MutexLock lock(mutex_);
    const Looked& looked = looked_[entry.index];
    if (looked.open_failure) raise_copy(looked.open_failure);
    if (looked.known) return looked.text.get();
  }
  // Files may be far away, so the others are not kept from theirs meanwhile.
  Looked now = look_at(entry);
  const MutexLock lock(mutex_);
  Looked& looked = looked_[entry.index];
  if (!looked.known) looked = std::move(now);
  if (looked.open_failure) raise_copy(looked.open_failure);
  return looked.text.get();
}

CompressedFiles::Looked CompressedFiles::look_at(const FileEntry& entry) {
  Looked out = {.known = true};
  std::shared_ptr<const File> file;
  try {
    file = raw(entry);
  } catch (const IoError&) {
    out.open_failure = std::current_exception();
    return out;
  }
  try {
    char start[kMagicBytes];
    const Compression kind =
        compression_of({start, file->read(0, start, std::min<uint64_t>(entry.size, sizeof start))});
    if (kind == Compression::none) return out;
    check_is_built(kind, entry.path);
    out.text = std::make_unique<CompressedText>(
        CompressedBytes{.entry = settings_.entries[entry.index], .end = entry.size}, kind, shared_, *file);
  } catch (const IoError&) {
    out.read_failure = std::current_exception();
    return out;
  }
  out.indexed = settings_.index && read_index(*out.text);
  found_.store(true, std::memory_order_relaxed);
  return out;
}

bool CompressedFiles::is_compressed(const FileEntry& entry) {
  if (text_of(entry) != nullptr) return true;
  if (entry.stream) return false;
  const MutexLock lock(mutex_);
  if (looked_[entry.index].read_failure) raise_copy(looked_[entry.index].read_failure);
  return false;
}

uint64_t CompressedFiles::end_of(const FileEntry& entry) {
  const ReadingTurn turn;  // it may have to be opened
  try {
    const CompressedText* const text = text_of(entry);
    return text != nullptr ? text->size() : entry.size;
  } catch (const IoError&) {
    return entry.size;  // whoever opens the file meets the error, at its rows
  }
}

bool CompressedFiles::may_be_compressed(const FileEntry& entry) const {
  if (entry.stream) return false;
  const MutexLock lock(mutex_);
  const Looked& looked = looked_[entry.index];
  return looked.known ? looked.text != nullptr : without_compression(entry.path) != entry.path;
}

bool CompressedFiles::any() const {
  return std::ranges::any_of(settings_.entries, [&](const auto& entry) { return may_be_compressed(*entry); });
}

// body(text, entry): what is known, or null, of each file that may be compressed.
template <class Body>
void CompressedFiles::for_each_text(const Body& body) const {
  for (const auto& entry : settings_.entries) {
    if (!may_be_compressed(*entry)) continue;
    const CompressedText* text = nullptr;
    {
      const MutexLock lock(mutex_);
      text = looked_[entry->index].text.get();
    }
    body(text, *entry);
  }
}

uint64_t CompressedFiles::most_range(uint64_t unit_bytes) const {
  uint64_t most = 0;
  for_each_text([&](const CompressedText* text, const FileEntry&) {
    most = std::max(most, text != nullptr ? text->most_range(unit_bytes) : shared_.most_range());
  });
  return most == 0 ? 0 : std::max(most, unit_bytes);
}

uint64_t CompressedFiles::decoder_memory() const {
  uint64_t most = 0;
  for_each_text([&](const CompressedText* text, const FileEntry&) {
    const bool zstd = text == nullptr || text->kind() == Compression::zstd;
    const uint64_t window = text == nullptr ? CompressedText::kUsualWindow : text->compressed().most_window;
    most = std::max(most, zstd ? kZstdMemory + window : kGzipMemory);
  });
  return most;
}

uint64_t CompressedFiles::point_memory() const {
  uint64_t sum = 0;
  for_each_text([&](const CompressedText* text, const FileEntry& entry) {
    sum += text != nullptr ? text->most_memory() : std::min(TextResources::kOfFile, entry.size / 2);
  });
  return std::min(sum, TextResources::kOfSource);
}

uint64_t CompressedFiles::saved_bound(uint64_t places) const {
  constexpr uint64_t kOfPoint = sizeof(TextPoint) + CompressedText::kMostInWindow;
  const uint64_t most = point_memory();
  return places < most / kOfPoint ? places * kOfPoint : most;
}

void CompressedFiles::save(State& state, std::span<const TextPlace> places) const {
  struct Used {
    std::vector<TextPoint> points;
    std::vector<bool> used;
  };
  std::map<uint32_t, Used> files;
  for (const TextPlace& place : places) {
    const auto [found, is_new] = files.try_emplace(place.file);
    Used& file = found->second;
    if (is_new) {
      file.points = points_of(place.file);
      file.used.resize(file.points.size());
    }
    const auto next = std::ranges::upper_bound(file.points, place.offset, {}, &TextPoint::text);
    if (next != file.points.begin()) file.used[static_cast<size_t>(next - file.points.begin()) - 1] = true;
  }
  SavedPoints saved;
  for (const auto& [index, file] : files) {
    for (size_t i = 0; i < file.points.size(); ++i) {
      if (file.used[i]) saved.add(index, file.points[i]);
    }
  }
  if (!saved.empty()) saved.move_to(state);
}

// None of a file that nobody looked at yet.
std::vector<TextPoint> CompressedFiles::points_of(uint32_t file) const {
  const MutexLock lock(mutex_);
  const CompressedText* const text = file < looked_.size() ? looked_[file].text.get() : nullptr;
  return text != nullptr ? text->points() : std::vector<TextPoint>{};
}

void CompressedFiles::restore(const State& state) {
  if (!state.has(kPoints)) return;
  for_each_point(state, [&](uint64_t file, const TextPoint& point) {
    CompressedText* const text =
        file < settings_.entries.size() ? text_of(*settings_.entries[static_cast<size_t>(file)]) : nullptr;
    if (text == nullptr) throw DataError(cat("the saved state has places in file ", file, ", which is not compressed"));
    text->load(point);
  });
}

void CompressedFiles::end_text(CompressedText& text, uint64_t size) {
  text.set_size(size);
  if (!settings_.index) return;
  {
    const MutexLock lock(mutex_);
    if (!writes_ || std::exchange(looked_[text.entry().index].indexed, true)) return;
  }
  try {
    write_index(text);
  } catch (const IoError& error) {
    no_index(error);
  }
}

// Whether there is one that fits the file.
bool CompressedFiles::read_index(CompressedText& text) {
  const FileEntry& entry = text.entry();
  const std::string path = index_path(entry.path);
  try {
    if (files_.type(path) != FileSystem::Type::file) return false;
    const std::unique_ptr<File> file = files_.open(path);
    std::string bytes(static_cast<size_t>(std::min(file->size(), kMostIndex)), '\0');
    bytes.resize(file->read(0, bytes.data(), bytes.size()));
    const State state = State::decode(bytes);
    const FileDigest digest = digest_of(entry, files_);
    if (state.value("size") != entry.size || state.value("first_block") != digest.first ||
        state.value("last_block") != digest.last) {
      throw DataError("it is of another file, or the file has changed since");
    }
    const auto size = state.count<uint64_t>("text", StreamFile::kUnknownSize - 1);
    for_each_point(state, [&](uint64_t, const TextPoint& point) { text.load(point); });
    text.set_size(size);
    return true;
  } catch (const Error& error) {
    tell(cat("warning: the index ", path, " is not used: ", error.message()));
    return false;
  }
}

void CompressedFiles::write_index(const CompressedText& text) {
  SavedPoints points;
  if (!text.has_blocks()) {
    for (const TextPoint& point : text.points()) points.add(0, point);
  }
  if (points.empty()) return;  // it would spare nothing
  const FileDigest digest = digest_of(text.entry(), files_);
  State state;
  state.set("size", text.entry().size);
  state.set("first_block", digest.first);
  state.set("last_block", digest.last);
  state.set("text", text.size());
  points.move_to(state);
  AtomicFile file(index_path(text.entry().path));
  file.write(state.encode());
  file.commit();
}

void CompressedFiles::no_index(const Error& error) {
  {
    const MutexLock lock(mutex_);
    writes_ = false;
  }
  tell(cat("warning: no index is written: ", error.what()));
}

void CompressedFiles::tell(std::string note) {
  const MutexLock lock(mutex_);
  notes_.push_back(std::move(note));
}

std::vector<std::string> CompressedFiles::take_notes() {
  const MutexLock lock(mutex_);
  return std::exchange(notes_, {});
}

}  // namespace millrace
