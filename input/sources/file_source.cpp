#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/source.h"
#include "millrace/input/sources/file_units.h"

namespace millrace {

namespace {

// How much of a file of text is looked at first: of a stream as much as a byte order mark has.
constexpr uint64_t kFirstLook = 65536, kLeastLook = 3;

}  // namespace

bool next_file(const FileSource& format, Unit& file) {
  NameSource& names = format.names();
  return attributed(names, [&] {
    if (!names.next(file)) return false;
    file.end = format.end_of(*not_null(file.file.get(), "the file of a unit of next()"));
    return true;
  });
}

Unit file_at(const FileSource& format, const Position& position) {
  attributed(format.names(), [&] { format.names().seek(position); });
  Unit file;
  if (!next_file(format, file) || file.pass != position.pass || file.file_ordinal != position.file_ordinal) {
    throw DataError(cat("the saved state is in file ", position.file_ordinal, " of pass ", position.pass,
                        ", which does not exist"));
  }
  if (position.offset <= file.end) return file;
  throw DataError(cat("the saved state is at offset ", position.offset, ", but the file ends at ", file.end),
                  {file.file->path});
}

void FileUnits::start(const Unit& file, const Position& position) {
  file_ = file;
  at_ = position.offset;
  line_ = at_ == 0 ? 1 : position.line;
  ended_ = at_ > 0 && at_ >= file.end;
  text_ = units_of_text();
}

void FileUnits::clear() {
  file_ = {};
  text_ = nullptr;
  ended_ = true;
}

// Null for a file that is not compressed.
std::unique_ptr<TextUnits> FileUnits::units_of_text() const {
  CompressedFiles* const files = format_.compressed();
  CompressedText* text = nullptr;
  try {
    if (files != nullptr) text = files->text_of(*file_.file);
  } catch (const IoError&) {
    // It is the error of the task that opens the file.
  }
  if (text == nullptr) return nullptr;
  return std::make_unique<TextUnits>(
      *files, *text, TextSettings{.begin = at_, .unit_bytes = format_.unit_bytes(), .interrupted = &interrupted_});
}

bool FileUnits::next(Unit& unit) {
  if (ended_) return false;
  unit = file_;
  unit.begin = at_;
  unit.exact = line_ > 0;
  unit.line = line_;
  if (file_.file->stream) {
    unit.part = file_.file->stream->take();
    ended_ = !unit.part;
    if (ended_ && !unit.exact) return false;
    unit.end = ended_ ? at_ : unit.part->end();
  } else if (text_) {
    ended_ = !text_->next(unit);
    if (ended_ && !unit.exact && unit.end == unit.begin) return false;
  } else {
    ended_ = !format_.cut(unit);
  }
  at_ = unit.end;
  line_ = 0;
  return true;
}

// Turns a unit into the format's text or rows.
class FileSource::Producer final : public Transform {
 public:
  explicit Producer(const FileSource& format) : format_(format) {}
  void apply(Chunk& chunk) const override { format_.read(chunk); }

 private:
  const FileSource& format_;
};

FileSource::FileSource(const Settings& settings, std::unique_ptr<NameSource> own_names)
    : settings_(settings),
      producer_(std::make_unique<Producer>(*this)),
      own_names_(std::move(own_names)),
      units_(std::make_unique<FileUnits>(*this)) {}

FileSource::~FileSource() = default;

std::vector<PortType> FileSource::inputs() const {
  return own_names_ ? std::vector<PortType>() : std::vector{PortType::names};
}

Port FileSource::bind(const BindArgs& args) {
  source_ = args.source_index;
  names_ = own_names_ ? own_names_.get() : args.names;
  if (own_names_) {
    own_names_->set_origin(origin());
    own_names_->bind(args);
  }
  files_ = attributed(*names_, &NameSource::files);
  file_system_ = args.files;
  open_files_ = std::make_unique<OpenFiles>(*args.files);
  if (settings_.readers > 1 && has_streams()) {
    throw ConfigError(cat(args.name, ": several readers cannot share standard input or a pipe"), {},
                      "leave readers out, or write the data to files first");
  }
  for_each_stream([this](StreamFile& stream) { stream.set_part_bytes(settings_.unit_bytes); });
  Port out = open(args);
  for (const auto& file : files_) {
    if (!compressed_ || !compressed_->may_be_compressed(*file)) largest_file_ = std::max(largest_file_, file->size);
  }
  return out;
}

void FileSource::read_compressed(bool index) {
  compressed_ = std::make_unique<CompressedFiles>(*file_system_, *open_files_,
                                                  CompressedFiles::Settings{.entries = files_, .index = index});
  for (const auto& file : files_) {
    if (!file->stream) continue;
    file->stream->wrap_bytes([&](std::unique_ptr<ByteStream> bytes) { return inflated(std::move(bytes), file->path); });
  }
}

bool FileSource::halve_units() {
  constexpr uint64_t kLittle = 16384;
  const bool ranges = compressed_ && compressed_->shared().most_range() > kLittle;
  if (!ranges && settings_.unit_bytes <= kLittle) return false;
  if (ranges) compressed_->shared().halve_ranges();
  if (settings_.unit_bytes <= kLittle) return true;
  settings_.unit_bytes /= 2;
  for_each_stream([this](StreamFile& stream) { stream.set_part_bytes(settings_.unit_bytes); });
  return true;
}

const Transform& FileSource::producer() const { return *producer_; }

bool FileSource::cut(Unit& unit) const {
  const uint64_t end = unit.end;
  unit.end = std::min(end, (unit.begin / settings_.unit_bytes + 1) * settings_.unit_bytes);
  return unit.end < end;
}

uint64_t FileSource::end_of(const FileEntry& file) const { return compressed_ ? compressed_->end_of(file) : file.size; }

bool FileSource::is_compressed(const FileEntry& file) const {
  return compressed_ && compressed_->text_of(file) != nullptr;
}

uint64_t FileSource::passed(const FileEntry& file, uint64_t offset) const {
  if (compressed_) {
    const CompressedText* const text = compressed_->found() ? compressed_->known_text(file) : nullptr;
    return text != nullptr ? text->bytes_before(offset) : offset;
  }
  const uint64_t end = end_of(file);
  if (end == file.size || end == 0) return offset;
  const double share = static_cast<double>(offset) / static_cast<double>(end);
  return static_cast<uint64_t>(share * static_cast<double>(file.size));
}

// Goes on with the next file; false at the end of the data.
bool FileSource::start_file() {
  Unit file;
  if (!next_file(*this, file)) return false;
  file.source = source_;
  units_->start(file);
  return true;
}

bool FileSource::next(Unit& unit) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  while (!units_->next(unit)) {
    if (!start_file()) return false;
  }
  return true;
}

// At the end of a file the next file decides.
bool FileSource::ready() noexcept {
  for (;;) {
    const bool ready = units_->ready();  // asked before at_end(), because a stream may end meanwhile
    if (!units_->at_end()) return ready;
    try {
      if (!start_file()) return true;
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
  }
}

template <class Body>
void FileSource::for_each_stream(const Body& body) const {
  for (const auto& file : files_) {
    if (file->stream) body(*file->stream);
  }
}

void FileSource::set_wake(const std::function<void()>& wake) {
  for_each_stream([&](StreamFile& stream) { stream.set_wake(wake); });
}

void FileSource::interrupt() noexcept {
  units_->interrupt();
  for_each_stream([](StreamFile& stream) { stream.interrupt(); });
}

void FileSource::rewind(uint32_t run) {
  attributed(*names_, [&] { names_->rewind(run); });
  units_->clear();
}

void FileSource::seek(const Position& position) {
  Unit file = file_at(*this, position);
  file.source = source_;
  units_->start(file, position);
}

Unit FileSource::unit_of(const RowId& id) const {
  Unit unit = attributed(*names_, [&] { return names_->unit_of(id); });
  unit.end = end_of(*unit.file);
  if (id.offset > unit.end || id.length > unit.end - id.offset) {
    throw DataError(cat("the saved state holds a row at offset ", id.offset, ", of length ", id.length,
                        ", but the file ends at ", unit.end),
                    {unit.file->path});
  }
  unit.source = source_;
  unit.begin = id.offset;
  unit.end = id.offset + id.length;
  unit.exact = true;
  unit.line = id.line;
  return unit;
}

OpenedFile FileSource::open_file(const FileEntry& file) const { return open_part(file, nullptr); }

OpenedFile FileSource::open_unit(const Unit& unit) const { return open_part(*unit.file, unit.part.get()); }

OpenedFile FileSource::open_part(const FileEntry& file, const StreamPart* of_unit) const {
  CompressedText* text = nullptr;
  try {
    if (compressed_) text = compressed_->text_of(file);
  } catch (const IoError&) {
    // A file that cannot be opened fails below. For another one is_compressed() throws, as reading would.
  }
  if (text == nullptr) return open_files_->get(file);
  const auto* const part = static_cast<const TextPart*>(of_unit);
  if (part != nullptr && part->in_order) return {part->in_order};
  OpenedFile opened = open_files_->get(file);
  opened.file = std::make_shared<InflatedFile>(*text, std::move(opened.file),
                                               part != nullptr ? std::optional(part->range) : std::nullopt);
  return opened;
}

Unit FileSource::start_of(const std::shared_ptr<const FileEntry>& file) const {
  // A stream may be slow: as little as it takes.
  uint64_t end = file->stream ? kLeastLook : kFirstLook;
  if (!is_compressed(*file)) end = std::min(file->size, end);
  return {.file = file, .end = end, .exact = true, .line = 1};
}

void FileSource::check_starts() const {
  for (const auto& file : files_) {
    if (file->size == 0) continue;
    Chunk chunk;
    chunk.unit = start_of(file);
    read(chunk);
    for (const Note& note : chunk.notes) {
      if (note.kind == Note::Kind::error) std::rethrow_exception(note.error);
    }
  }
}

ChunkBound FileSource::bound_of_text(const TextRecords& records) const {
  // The text grows by doubling, and never beyond its file. For a stream, a task holds a part and its own copy of it.
  uint64_t text = std::min(settings_.unit_bytes + 2 * records.longest, 2 * (largest_file_ + kFirstLook));
  if (has_streams()) text *= 2;
  uint64_t range = range_bytes();
  if (const TextBounds most = compressed_ ? compressed_->bounds(settings_.unit_bytes) : TextBounds{}; most.range > 0) {
    // A task has the part, or the compressed bytes, and a decoder besides the text.
    text = std::max(text, 2 * most.range + 2 * records.longest + most.decoder);
    range = std::max(range, most.range);
  }
  return {.text_bytes = text,
          .rows = range / records.shortest + 1,
          .records = range / records.shortest_bad + 1,
          .range_bytes = range};
}

bool FileSource::has_streams() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file->stream != nullptr; });
}

uint64_t FileSource::memory_bound() const {
  uint64_t bytes = has_streams() ? StreamFile::memory_bound(settings_.unit_bytes) : 0;
  const TextBounds text = compressed_ ? compressed_->bounds(settings_.unit_bytes) : TextBounds{};
  if (text.decoder == 0) return bytes;
  // Each file that is read in order has a decoder, and what was read ahead of a part.
  const uint64_t at_once = 2 * std::min<uint64_t>(static_cast<uint64_t>(settings_.readers), files_.size());
  return bytes + at_once * (text.decoder + 2 * settings_.unit_bytes) + text.points;
}

}  // namespace millrace
