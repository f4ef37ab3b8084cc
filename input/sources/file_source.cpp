#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/source.h"
#include "millrace/input/sources/file_units.h"

namespace millrace {

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
}

void FileUnits::clear() {
  file_ = {};
  ended_ = true;
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
  open_files_ = std::make_unique<OpenFiles>(*args.files);
  if (settings_.readers > 1 && has_streams()) {
    throw ConfigError(cat(args.name, ": several readers cannot share standard input or a pipe"), {},
                      "leave readers out, or write the data to files first");
  }
  for_each_stream([this](StreamFile& stream) { stream.set_part_bytes(settings_.unit_bytes); });
  return open(args);
}

void FileSource::halve_units() {
  settings_.unit_bytes /= 2;
  for_each_stream([this](StreamFile& stream) { stream.set_part_bytes(settings_.unit_bytes); });
}

const Transform& FileSource::producer() const { return *producer_; }

bool FileSource::cut(Unit& unit) const {
  const uint64_t end = unit.end;
  unit.end = std::min(end, (unit.begin / settings_.unit_bytes + 1) * settings_.unit_bytes);
  return unit.end < end;
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

OpenedFile FileSource::open_file(const FileEntry& file) const { return open_files_->get(file); }

bool FileSource::has_streams() const {
  return std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file->stream != nullptr; });
}

uint64_t FileSource::memory_bound() const { return has_streams() ? StreamFile::memory_bound(settings_.unit_bytes) : 0; }

}  // namespace millrace
