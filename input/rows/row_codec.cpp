#include "millrace/input/rows/row_codec.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/state.h"
#include "millrace/core/text.h"
#include "millrace/input/rows/frame_bytes.h"

namespace millrace {

namespace {

constexpr FrameKind kRowsFrame = {"mrr", RowCodec::kVersion, "encoded rows"};
constexpr FrameKind kErrorFrame = {"mre", RowCodec::kVersion, "an encoded error"};

// The fewest bytes of an id and of a note.
constexpr size_t kLeastId = 4, kLeastNote = 12;

// Errors are sent by their kind; a ShapeError has this number.
constexpr uint64_t kShapeError = 6;
static_assert(static_cast<int>(ErrorKind::internal) == 5 && static_cast<int>(Note::Kind::print) == 3,
              "other numbers are another version of the form");

// The rows of a field that does not vary, in two places.
struct FieldCopy {
  std::byte* to;
  size_t to_stride;
  const std::byte* from;
  size_t from_stride;
  size_t bytes;  // of a row
  size_t rows;

  void run() const {
    if (to_stride == from_stride) {
      std::memcpy(to, from, rows * to_stride);
      return;
    }
    switch (bytes) {
      case 1: return each<1>();
      case 4: return each<4>();
      case 8: return each<8>();
      default:
        for (size_t row = 0; row < rows; ++row) std::memcpy(to + row * to_stride, from + row * from_stride, bytes);
    }
  }

 private:
  template <size_t kBytes>
  void each() const {
    for (size_t row = 0; row < rows; ++row) std::memcpy(to + row * to_stride, from + row * from_stride, kBytes);
  }
};

template <class Sink>
void put_place(Sink& sink, const Place& place) {
  sink.text(place.file);
  sink.number(static_cast<uint64_t>(place.line));
  sink.number(static_cast<uint64_t>(place.column));
}

// An error as it is sent.
struct ErrorParts {
  uint64_t kind = 0;
  std::string message, hint;
  Place place;
};

ErrorParts parts_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(as_error(error, ""));
  } catch (const Error& known) {
    const bool shape = dynamic_cast<const ShapeError*>(&known) != nullptr;
    return {shape ? kShapeError : static_cast<uint64_t>(known.kind()), known.message(), known.hint(), known.place()};
  }
}

template <class Sink>
void put_error(Sink& sink, const ErrorParts& error) {
  sink.number(error.kind);
  sink.text(error.message);
  put_place(sink, error.place);
  sink.text(error.hint);
}

// `before` is the id before `id`.
template <class Sink>
void put_id(Sink& sink, const RowId& id, const RowId& before) {
  sink.difference(id.offset - (before.offset + before.length));
  sink.difference(id.line - before.next_line);
  sink.difference(id.next_line - id.line);
  sink.number(id.length);
}

// The id before the chunk's first one.
RowId id_before(const Chunk& chunk) {
  return {.source = chunk.unit.source,
          .pass = chunk.unit.pass,
          .file = chunk.unit.file ? chunk.unit.file->index : 0,
          .offset = chunk.first_record};
}

template <class Sink>
void put_fixed(Sink& sink, const RowBlock& rows, size_t field) {
  const FieldSpec& spec = rows.spec().fields[field];
  const size_t bytes = spec.tensor().bytes(), count = static_cast<size_t>(rows.size());
  std::byte* const to = sink.room(bytes * count);
  if (to != nullptr) FieldCopy{to, bytes, rows.at(field, 0), spec.row_bytes(), bytes, count}.run();
}

template <class Sink>
void put_varying(Sink& sink, const FieldSpec& spec, const Varying& values) {
  if (spec.text) {
    sink.number(values.texts());
    for (size_t i = 0; i < values.texts(); ++i) sink.text(values.text(i));
  } else {
    const std::span<const std::byte> bytes = values.numbers<std::byte>();
    sink.number(bytes.size() / size_of(spec.dtype));
    sink.raw(bytes.data(), bytes.size());
  }
}

template <class Sink>
void put_note(Sink& sink, const Note& note, int64_t row_before, const RowId& before) {
  sink.number(static_cast<uint64_t>(note.kind));
  sink.number(static_cast<uint64_t>(note.row - row_before));
  sink.number(note.count);
  sink.number(note.id ? 1 : 0);
  if (note.id) put_id(sink, *note.id, before);
  put_place(sink, note.place);
  sink.text(note.text);
  sink.number(note.limit + 1);  // none is 0
  sink.text(note.field);
  sink.text(note.value);
  sink.number(note.transform + 1);  // none is 0
}

// `error` is the last note's.
template <class Sink>
void put_chunk(Sink& sink, const Chunk& chunk, const std::optional<ErrorParts>& error) {
  const RowBlock& rows = chunk.rows;
  sink.number(chunk.first_record);
  sink.difference(chunk.end_record - chunk.first_record);
  sink.number(chunk.lines);
  sink.number(static_cast<uint64_t>(rows.size()));
  const RowId first = id_before(chunk);
  const RowId* before = &first;
  for (const RowId& id : rows.ids()) {
    put_id(sink, id, *before);
    before = &id;
  }
  for (size_t field = 0; rows.size() > 0 && field < rows.spec().fields.size(); ++field) {
    const FieldSpec& spec = rows.spec().fields[field];
    if (spec.row_bytes() > 0) {
      put_fixed(sink, rows, field);
    } else {
      for (int64_t row = 0; row < rows.size(); ++row) put_varying(sink, spec, rows.varying(field, row));
    }
  }
  sink.number(chunk.notes.size());
  int64_t row = 0;
  for (const Note& note : chunk.notes) put_note(sink, note, std::exchange(row, note.row), first);
  if (error) put_error(sink, *error);
}

// Says why no stream could use the note; empty if nothing is wrong with it.
std::string_view note_fault(const Note& note, bool last) {
  if (note.kind == Note::Kind::error && !last) return "something follows an error";
  if (note.kind == Note::Kind::dropped && note.count - 1 >= State::kMostCount) return "a count of rows is impossible";
  for (const int64_t number : {note.place.line, note.place.column}) {
    if (static_cast<uint64_t>(number) > State::kMostCount) return "a place is impossible";
  }
  return {};
}

// Throws if decode() would refuse the chunk, or give back another one.
void check_chunk(const Chunk& chunk) {
  const RowId unit = id_before(chunk);
  const auto check_id = [&](const RowId& id, std::string_view what) {
    if (id.source == unit.source && id.pass == unit.pass && id.file == unit.file) return;
    throw InternalError(cat("a chunk has ", what, " of another unit: source ", id.source, ", pass ", id.pass, ", file ",
                            id.file, "; expected ", unit.source, ", ", unit.pass, " and ", unit.file));
  };
  for (const RowId& id : chunk.rows.ids()) check_id(id, "a row");
  chunk.rows.check_texts();
  int64_t row = 0;
  for (const Note& note : chunk.notes) {
    const bool last = &note == &chunk.notes.back();
    if (note.row < row || note.row > chunk.rows.size()) throw InternalError("a chunk has notes out of order");
    row = note.row;
    if (note.id) check_id(*note.id, "a note");
    if (note.kind == Note::Kind::error && note.error == nullptr) throw InternalError("a chunk has a null error");
    if (const std::string_view fault = note_fault(note, last); !fault.empty()) {
      throw InternalError(cat("a chunk has a wrong note: ", fault));
    }
  }
}

Place take_place(FrameReader& reader) {
  Place place;
  place.file = reader.text();
  place.line = static_cast<int64_t>(reader.number());
  place.column = static_cast<int64_t>(reader.number());
  return place;
}

std::exception_ptr take_error(FrameReader& reader) {
  const uint64_t kind = reader.number_up_to(kShapeError);
  const std::string_view message = reader.text();
  const Place place = take_place(reader);
  const std::string_view hint = reader.text();
  const auto make = [&]<class E>() { return std::make_exception_ptr(E(message, place, hint)); };
  if (kind == kShapeError) return make.operator()<ShapeError>();
  switch (static_cast<ErrorKind>(kind)) {
    case ErrorKind::config: return make.operator()<ConfigError>();
    case ErrorKind::data: return make.operator()<DataError>();
    case ErrorKind::missing: return make.operator()<MissingError>();
    case ErrorKind::io: return make.operator()<IoError>();
    case ErrorKind::device: return make.operator()<DeviceError>();
    case ErrorKind::internal: break;
  }
  return make.operator()<InternalError>();
}

RowId take_id(FrameReader& reader, const RowId& before) {
  RowId id = before;
  id.offset += before.length + reader.difference();
  id.line = before.next_line + reader.difference();
  id.next_line = id.line + reader.difference();
  id.length = static_cast<uint32_t>(reader.number_up_to(UINT32_MAX));
  return id;
}

void take_varying(FrameReader& reader, const FieldSpec& spec, Varying& values) {
  values.clear();
  if (spec.text) {
    uint64_t bytes = 0;
    for (size_t texts = reader.count(1); texts > 0; --texts) {
      const std::string_view text = reader.text();
      bytes += text.size();
      if (bytes > UINT32_MAX) reader.refuse("the texts of a row are too long");
      values.add_text(text);
    }
    return;
  }
  const size_t count = reader.count(size_of(spec.dtype));
  if (count > 0 && !spec.ragged()) reader.refuse("a field without values has some");
  const std::string_view bytes = reader.raw(count * size_of(spec.dtype));
  values.add_bytes({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void take_fields(FrameReader& reader, RowBlock& rows) {
  const auto count = static_cast<size_t>(rows.size());
  for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
    const FieldSpec& spec = rows.spec().fields[field];
    if (spec.row_bytes() == 0) {
      for (int64_t row = 0; row < rows.size(); ++row) take_varying(reader, spec, rows.varying(field, row));
      continue;
    }
    const size_t bytes = spec.tensor().bytes();
    const auto* from = reinterpret_cast<const std::byte*>(reader.raw(count * bytes).data());
    FieldCopy{rows.at(field, 0), spec.row_bytes(), from, bytes, bytes, count}.run();
  }
  try {
    rows.check_texts();
  } catch (const ShapeError& error) {
    reader.refuse(error.message());
  }
}

// The bytes that a row takes at least; a value whose size varies has its count.
size_t least_row_bytes(const RowSpec& spec) {
  size_t bytes = kLeastId;
  for (const FieldSpec& field : spec.fields) bytes += field.row_bytes() > 0 ? field.tensor().bytes() : 1;
  return bytes;
}

void take_rows(FrameReader& reader, const SharedRowSpec& spec, Chunk& chunk) {
  const auto rows = static_cast<int64_t>(reader.count(least_row_bytes(*spec)));
  chunk.rows.configure(spec, rows);
  chunk.rows.resize(rows);
  if (rows == 0) return;
  RowId before = id_before(chunk);
  for (int64_t row = 0; row < rows; ++row) chunk.rows.id(row) = before = take_id(reader, before);
  take_fields(reader, chunk.rows);
}

void take_notes(FrameReader& reader, Chunk& chunk) {
  const RowId before = id_before(chunk);
  const size_t count = reader.count(kLeastNote);
  chunk.notes.clear();
  chunk.notes.reserve(count);
  int64_t row = 0;
  for (size_t i = 0; i < count; ++i) {
    Note& note = chunk.notes.emplace_back();
    note.kind = static_cast<Note::Kind>(reader.number_up_to(static_cast<uint64_t>(Note::Kind::print)));
    row += static_cast<int64_t>(reader.number_up_to(static_cast<uint64_t>(chunk.rows.size() - row)));
    note.row = row;
    note.count = reader.number();
    if (reader.number_up_to(1) == 1) note.id = take_id(reader, before);
    note.place = take_place(reader);
    note.text = reader.text();
    note.limit = reader.number() - 1;
    note.field = reader.text();
    note.value = reader.text();
    note.transform = static_cast<uint32_t>(reader.number_up_to(UINT32_MAX)) - 1;
    const std::string_view fault = note_fault(note, i + 1 == count);
    if (!fault.empty()) reader.refuse(fault);
  }
  if (count > 0 && chunk.notes.back().kind == Note::Kind::error) chunk.notes.back().error = take_error(reader);
}

}  // namespace

void RowCodec::encode(const Chunk& chunk, std::string& out) {
  check_chunk(chunk);
  std::optional<ErrorParts> error;
  if (!chunk.notes.empty() && chunk.notes.back().kind == Note::Kind::error) error = parts_of(chunk.notes.back().error);
  append_frame(kRowsFrame, out, [&](auto& sink) { put_chunk(sink, chunk, error); });
}

void RowCodec::decode(std::string_view bytes, const SharedRowSpec& rows, Chunk& chunk) {
  FrameReader reader(kRowsFrame, bytes);
  chunk.first_record = reader.number();
  chunk.end_record = chunk.first_record + reader.difference();
  chunk.lines = reader.number_up_to(State::kMostCount);
  take_rows(reader, rows, chunk);
  take_notes(reader, chunk);
  reader.end();
}

void RowCodec::encode_error(const std::exception_ptr& error, std::string& out) {
  const ErrorParts parts = parts_of(error);
  append_frame(kErrorFrame, out, [&](auto& sink) { put_error(sink, parts); });
}

std::exception_ptr RowCodec::decode_error(std::string_view bytes) {
  FrameReader reader(kErrorFrame, bytes);
  std::exception_ptr error = take_error(reader);
  reader.end();
  return error;
}

}  // namespace millrace
