#include "millrace/input/compressed/compressed_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// More than any index that write_index() makes.
constexpr uint64_t kMostIndex = 2 * TextResources::kOfFile;
constexpr std::string_view kPoints = "points", kWindows = "windows";

// "d/.a.csv.gz.index" for "d/a.csv.gz".
std::string index_path(const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // 0 without a folder
  return cat(path.substr(0, name), '.', path.substr(name), ".index");
}

// An index lies beside its file, so there is none for files that are not this machine's.
CompressedFiles::Settings with_index_if_local(CompressedFiles::Settings settings, const FileSystem& files) {
  settings.index = settings.index && &files == &FileSystem::local();
  return settings;
}

// Points of files, by FileEntry::index.
using FilePoints = std::vector<std::pair<uint32_t, TextPoint>>;

// A point has these: file, text, at, bits, crc, length, and the size of its window, which lies after the windows
// before.
constexpr size_t kNumbers = 7;

void save_points(State& state, const FilePoints& points) {
  std::vector<uint64_t> numbers;
  std::string windows;
  for (const auto& [file, point] : points) {
    const size_t window = point.window ? point.window->size() : 0;
    numbers.insert(numbers.end(), {file, point.text, point.at, point.bits, point.crc, point.length, window});
    if (window > 0) windows += *point.window;
  }
  state.set(kPoints, std::move(numbers));
  state.set_text(kWindows, std::move(windows));
}

FilePoints load_points(const State& state) {
  constexpr uint64_t kMost = StreamFile::kUnknownSize - 1;
  const std::vector<uint64_t>& numbers =
      state.counts(kPoints, {UINT32_MAX, kMost, kMost, 7, UINT32_MAX, UINT32_MAX, UINT32_MAX});
  std::string_view windows = state.text(kWindows);
  FilePoints out;
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
    out.emplace_back(static_cast<uint32_t>(number[0]), std::move(point));
  }
  return out;
}

}  // namespace

CompressedFiles::CompressedFiles(FileSystem& files, OpenFiles& open, Settings settings)
    : files_(files),
      open_(open),
      settings_(with_index_if_local(std::move(settings), files)),
      shared_(settings_.entries.size()),
      looked_(settings_.entries.size()) {
  if (!settings_.index) return;
  const auto first = std::ranges::find_if(settings_.entries, [&](const auto& one) { return may_be_compressed(*one); });
  if (first == settings_.entries.end()) return;
  const std::string path = index_path((*first)->path);
  if (files_.type(path) == FileSystem::Type::none) check_writable(path);
}

CompressedText* CompressedFiles::text_of(const FileEntry& entry) {
  if (entry.stream) return nullptr;
  {
    const MutexLock lock(mutex_);
    const Looked& looked = looked_[entry.index];
    if (looked.failure) raise_copy(looked.failure);
    if (looked.known) return looked.text.get();
  }
  // Files may be far away, so the others are not kept from theirs meanwhile.
  Looked now = look_at(entry);
  const MutexLock lock(mutex_);
  Looked& looked = looked_[entry.index];
  if (!looked.known) looked = std::move(now);
  if (looked.failure) raise_copy(looked.failure);
  return looked.text.get();
}

CompressedFiles::Looked CompressedFiles::look_at(const FileEntry& entry) {
  Looked out = {.known = true};
  try {
    const std::shared_ptr<const File> file = raw(entry);
    char start[kMagicBytes];
    const Compression kind =
        compression_of({start, file->read(0, start, std::min<uint64_t>(entry.size, sizeof start))});
    if (entry.size == 0 && without_compression(entry.path) != entry.path) {
      out.failure = std::make_exception_ptr(
          DataError("the file is empty, as no compressed file is", {entry.path}, "was it cut short?"));
    }
    if (kind == Compression::none) return out;
    check_is_built(kind, entry.path);
    out.text = std::make_unique<CompressedText>(
        CompressedBytes{.entry = settings_.entries[entry.index], .end = entry.size}, kind, shared_, *file);
  } catch (const IoError&) {
    out.failure = std::current_exception();
    return out;
  }
  out.indexed = !settings_.index || read_index(*out.text);
  found_.store(true, std::memory_order_relaxed);
  return out;
}

const CompressedText* CompressedFiles::known_text(const FileEntry& entry) const {
  const MutexLock lock(mutex_);
  return looked_[entry.index].text.get();
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

TextBounds CompressedFiles::bounds(uint64_t unit_bytes) const {
  TextBounds out;
  for (const auto& entry : settings_.entries) {
    if (!may_be_compressed(*entry)) continue;
    const CompressedText* const text = known_text(*entry);
    const TextBounds one = text != nullptr ? text->bounds(unit_bytes) : CompressedText::unknown_bounds(*entry, shared_);
    out.range = std::max({out.range, one.range, unit_bytes});
    out.decoder = std::max(out.decoder, one.decoder);
    out.points += one.points;
  }
  return out;
}

uint64_t CompressedFiles::saved_bound(uint64_t places) const {
  constexpr uint64_t kOfPoint = sizeof(TextPoint) + CompressedText::kMostInWindow;
  const uint64_t most = bounds(0).points;
  return places < most / kOfPoint ? places * kOfPoint : most;
}

void CompressedFiles::save(State& state, std::span<const TextPlace> places) const {
  std::map<std::pair<uint32_t, uint64_t>, TextPoint> used;  // by file and text
  for (const TextPlace& place : places) {
    const CompressedText* const text =
        place.file < settings_.entries.size() ? known_text(*settings_.entries[place.file]) : nullptr;
    if (text == nullptr) continue;  // a file that nobody looked at yet has no points
    const TextPoint point = text->before(place.offset);
    if (point.at > text->compressed().begin) used.try_emplace({place.file, point.text}, point);
  }
  FilePoints points;
  for (const auto& [at, point] : used) points.emplace_back(at.first, point);
  if (!points.empty()) save_points(state, points);
}

void CompressedFiles::restore(const State& state) {
  if (!state.has(kPoints)) return;
  for (const auto& [file, point] : load_points(state)) {
    CompressedText* const text = file < settings_.entries.size() ? text_of(*settings_.entries[file]) : nullptr;
    if (text == nullptr) throw DataError(cat("the saved state has places in file ", file, ", which is not compressed"));
    text->load(point);
  }
}

void CompressedFiles::end_text(CompressedText& text, uint64_t size) {
  text.set_size(size);
  {
    const MutexLock lock(mutex_);
    if (std::exchange(looked_[text.entry().index].indexed, true)) return;
  }
  try {
    write_index(text);
  } catch (const IoError&) {  // it would only spare time
  }
}

// Whether there is one that fits the file. Any other is written anew.
bool CompressedFiles::read_index(CompressedText& text) const {
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
      return false;
    }
    const auto size = state.count<uint64_t>("text", StreamFile::kUnknownSize - 1);
    for (const auto& [index, point] : load_points(state)) text.load(point);
    text.set_size(size);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void CompressedFiles::write_index(const CompressedText& text) const {
  FilePoints points;
  if (!text.has_blocks()) {
    for (TextPoint& point : text.points()) points.emplace_back(0, std::move(point));
  }
  if (points.empty()) return;  // it would spare nothing
  const FileDigest digest = digest_of(text.entry(), files_);
  State state;
  state.set("size", text.entry().size);
  state.set("first_block", digest.first);
  state.set("last_block", digest.last);
  state.set("text", text.size());
  save_points(state, points);
  AtomicFile file(index_path(text.entry().path));
  file.write(state.encode());
  file.commit();
}

}  // namespace millrace
