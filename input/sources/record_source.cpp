#include "millrace/input/source.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/file_check.h"

namespace millrace {

// A range of a file -> rows.
class RecordSource::Decoder final : public Transform {
 public:
  explicit Decoder(const RecordSource& source)
      : source_(source), format_(source.format_), rows_(std::make_shared<const RowSpec>(format_.rows)) {}

  std::vector<PortType> inputs() const override { return {PortType::names}; }
  Port bind(const BindArgs& args) override {
    files_ = args.files;
    return {.type = PortType::rows, .format = nullptr, .rows = format_.rows};
  }

  void apply(Chunk& chunk) const override {
    const Unit& unit = chunk.unit;
    const uint64_t bytes = unit.end - unit.begin;
    const auto count = static_cast<int64_t>(bytes / format_.record_bytes);
    chunk.rows.configure(rows_, std::max<int64_t>(count, 1));
    if (count == 0) return;
    auto& text = chunk.work().get<std::vector<std::byte>>(this);
    text.resize(bytes);
    const size_t got = files_->open(unit.file->path)->read(unit.begin, text.data(), bytes);
    if (got < bytes) throw_shrunk(*unit.file, unit.begin + got);
    for (int64_t row = 0; row < count; ++row) {
      chunk.rows.resize(row + 1);
      const uint64_t at = static_cast<uint64_t>(row) * format_.record_bytes;
      chunk.rows.id(row) = id_of(unit, unit.begin + at);
      try {
        source_.decode(text.data() + at, chunk.rows, row);
      } catch (const DataError&) {
        const Place place = source_.place(chunk.rows.id(row));
        chunk.rows.resize(row);
        chunk.fail(std::current_exception(), place);
        return;
      }
    }
  }

 private:
  RowId id_of(const Unit& unit, uint64_t offset) const {
    const uint64_t number = (offset - format_.header_bytes) / format_.record_bytes;
    return {.source = unit.source,
            .pass = unit.pass,
            .file = unit.file->index,
            .length = static_cast<uint32_t>(format_.record_bytes),
            .offset = offset,
            .line = number + 1,
            .next_line = number + 2};
  }

  const RecordSource& source_;
  const RecordFormat& format_;
  const SharedRowSpec rows_;
  FileSystem* files_ = nullptr;
};

RecordSource::RecordSource(RecordFormat format)
    : format_(std::move(format)),
      unit_bytes_(std::max<uint64_t>(format_.chunk_bytes / format_.record_bytes, 1) * format_.record_bytes),
      decoder_(std::make_unique<Decoder>(*this)) {}

RecordSource::~RecordSource() = default;

Port RecordSource::bind(const BindArgs& args) {
  source_ = args.source_index;
  for (const auto& file : names_->files()) check(*file);
  return decoder_->bind(args);
}

const Transform& RecordSource::producer() const { return *decoder_; }

void RecordSource::check(const FileEntry& file) const {
  if (file.stream) {
    throw ConfigError("records of one length cannot be read from a pipe", {file.path},
                      "write the data to a file first");
  }
  const uint64_t header = format_.header_bytes, record = format_.record_bytes;
  const std::string expected = cat("expected ", header, " bytes and records of ", record, ", got ");
  if (file.size < header) throw DataError(cat(expected, "a file of ", file.size, " bytes"), {file.path});
  const uint64_t records = (file.size - header) / record, rest = (file.size - header) % record;
  if (rest == 0) return;
  throw DataError(cat(expected, records, " records and ", rest, " of the ", record, " bytes of another"),
                  {file.path, static_cast<int64_t>(records + 1)});
}

// Goes on with the next of the names, from `position` on; false behind the last.
bool RecordSource::start_file(const Position& position) {
  if (!names_->next(file_)) return false;
  file_.source = source_;
  at_ = std::max(position.offset, format_.header_bytes);
  return true;
}

// A file without records has a unit, too: so every pass has one.
bool RecordSource::next(Unit& unit) {
  if (!inside_ && !start_file({})) return false;
  unit = file_;
  unit.begin = at_;
  unit.end = at_ = std::min(file_.end, at_ + unit_bytes_);
  unit.exact = true;
  unit.line = (unit.begin - format_.header_bytes) / format_.record_bytes + 1;
  inside_ = at_ < file_.end;
  return true;
}

void RecordSource::rewind(uint32_t run) {
  names_->rewind(run);
  inside_ = false;
}

void RecordSource::seek(const Position& position) {
  names_->seek(position);
  inside_ = start_file(position);
}

ChunkBound RecordSource::chunk_bound() const {
  const uint64_t records = unit_bytes_ / format_.record_bytes;
  return {.text_bytes = unit_bytes_, .rows = records, .records = records};
}

Unit RecordSource::unit_of(const RowId& id) const {
  Unit unit = names_->unit_of(id);
  unit.source = source_;
  unit.begin = id.offset;
  unit.end = id.offset + id.length;
  unit.exact = true;
  unit.line = id.line;
  return unit;
}

}  // namespace millrace
