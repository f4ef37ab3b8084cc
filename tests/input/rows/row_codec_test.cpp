#include "millrace/input/rows/row_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <typeinfo>

#include "millrace/core/state.h"
#include "millrace/input/rows/frame_bytes.h"
#include "millrace/input/run/transform_chain.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::make_op;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

constexpr uint32_t kSource = 2, kPass = 5, kFile = 3;

Chunk chunk_of(const RowSpec& spec, int64_t rows) {
  Chunk chunk;
  chunk.unit.file = std::make_shared<const FileEntry>(FileEntry{.path = "a.csv", .index = kFile});
  chunk.unit.source = kSource;
  chunk.unit.pass = kPass;
  chunk.rows.configure(spec, rows);
  chunk.rows.resize(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const auto number = static_cast<uint64_t>(row);
    chunk.rows.id(row) = {.source = kSource,
                          .pass = kPass,
                          .file = kFile,
                          .length = 10,
                          .offset = 100 + 10 * number,
                          .line = number,
                          .next_line = number + 1};
  }
  chunk.first_record = 100;
  chunk.end_record = 100 + 10 * static_cast<uint64_t>(rows);
  chunk.lines = static_cast<uint64_t>(rows);
  return chunk;
}

std::string encoded(const Chunk& chunk) {
  std::string out;
  RowCodec::encode(chunk, out);
  return out;
}

// Decodes rows of `like`, for its unit.
void decode(std::string_view bytes, const Chunk& like, Chunk& chunk) {
  chunk.unit = like.unit;
  RowCodec::decode(bytes, like.rows.shared_spec(), chunk);
}

std::string text_of(const std::exception_ptr& error) {
  if (error == nullptr) return "null";
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return cat(typeid(known).name(), ' ', to_string(known.kind()), ' ', known.place().text(), '|', known.message(), '|',
               known.hint());
  }
}

std::string text_of(const RowId& id) {
  return cat(id.source, ' ', id.pass, ' ', id.file, ' ', id.length, ' ', id.offset, ' ', id.line, ' ', id.next_line);
}

std::string text_of(const Note& note) {
  return cat(static_cast<int>(note.kind), '|', note.row, '|', note.count, '|', text_of(note.error), '|',
             note.id ? text_of(*note.id) : "none", '|', note.place.text(), '|', note.text, '|', note.limit, '|',
             note.field, '|', note.value, '|', note.transform);
}

void expect_same(const Chunk& got, const Chunk& expected) {
  EXPECT_EQ(got.first_record, expected.first_record);
  EXPECT_EQ(got.end_record, expected.end_record);
  EXPECT_EQ(got.lines, expected.lines);
  ASSERT_EQ(got.rows.spec(), expected.rows.spec());
  ASSERT_EQ(got.rows.size(), expected.rows.size());
  for (int64_t row = 0; row < got.rows.size(); ++row) {
    EXPECT_EQ(text_of(got.rows.id(row)), text_of(expected.rows.id(row))) << row;
    for (size_t field = 0; field < got.rows.spec().fields.size(); ++field) {
      const FieldSpec& spec = got.rows.spec().fields[field];
      if (spec.row_bytes() == 0) {
        EXPECT_EQ(got.rows.varying(field, row), expected.rows.varying(field, row)) << spec.name << row;
      } else {
        EXPECT_EQ(std::memcmp(got.rows.at(field, row), expected.rows.at(field, row), spec.tensor().bytes()), 0)
            << spec.name << row;
      }
    }
  }
  ASSERT_EQ(got.notes.size(), expected.notes.size());
  for (size_t i = 0; i < got.notes.size(); ++i) EXPECT_EQ(text_of(got.notes[i]), text_of(expected.notes[i])) << i;
}

void expect_round_trip(const Chunk& chunk) {
  Chunk got;
  const std::string bytes = encoded(chunk);
  decode(bytes, chunk, got);
  expect_same(got, chunk);
  EXPECT_EQ(encoded(got), bytes);
}

FieldSpec field(std::string name, DType dtype, const Shape& shape) {
  return {.name = std::move(name), .dtype = dtype, .shape = shape};
}
FieldSpec ragged(std::string name, DType dtype) {
  FieldSpec out = field(std::move(name), dtype, Shape{1});
  out.split = ' ';
  return out;
}
FieldSpec texts(std::string name, int64_t columns) {
  FieldSpec out = field(std::move(name), DType::f32, Shape{columns});
  out.text = true;
  return out;
}
FieldSpec ragged_texts(std::string name) {
  FieldSpec out = ragged(std::move(name), DType::f32);
  out.text = true;
  return out;
}

// Rows with random bytes in the fields that do not vary.
Chunk random_chunk(const RowSpec& spec, int64_t rows) {
  Chunk chunk = chunk_of(spec, rows);
  std::mt19937 random(1);
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    for (int64_t row = 0; spec.fields[i].row_bytes() > 0 && row < rows; ++row) {
      for (size_t byte = 0; byte < spec.fields[i].tensor().bytes(); ++byte) {
        chunk.rows.at(i, row)[byte] = static_cast<std::byte>(random());
      }
    }
  }
  return chunk;
}

TEST(RowCodec, RowsOfEveryTypeComeBack) {
  RowSpec spec;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    // 16 numbers of 4 bytes, and 8 of 8, leave nothing free between the rows.
    for (const int64_t size : {1, 3, 8, 16, 17, 64}) {
      spec.fields.push_back(field(cat("x", spec.fields.size()), dtype, Shape{size}));
    }
  }
  spec.fields.push_back(field("image", DType::u8, Shape({3, 5, 7})));
  for (const int64_t rows : {1, 2, 9}) expect_round_trip(random_chunk(spec, rows));
}

TEST(RowCodec, ValuesWhoseSizeVariesComeBack) {
  Chunk chunk = random_chunk({{ragged("r", DType::f64), field("x", DType::f32, Shape{2}), texts("t", 1), texts("u", 2),
                               ragged_texts("w"), ragged("b", DType::u8)}},
                             4);
  RowBlock& rows = chunk.rows;
  for (int i = 0; i < 300; ++i) rows.varying(0, 1).add_number(i / 7.0);
  rows.set_text(2, 0, "a text");
  rows.set_text(2, 1, "");
  rows.set_text(2, 2, std::string_view("\0\xff\n", 3));
  rows.set_text(3, 3, "");
  rows.add_text(3, 3, std::string(1000, 'x'));
  for (int i = 0; i < 200; ++i) rows.add_text(4, 2, std::to_string(i));
  rows.varying(5, 3).add_number(uint8_t{200});
  expect_round_trip(chunk);
}

TEST(RowCodec, ChunksWithoutRowsComeBack) {
  expect_round_trip(chunk_of({}, 0));
  expect_round_trip(chunk_of({}, 3));
  expect_round_trip(chunk_of({{texts("t", 1), field("x", DType::f32, Shape{1})}}, 0));
  Chunk chunk = chunk_of({{field("x", DType::f32, Shape{1})}}, 0);
  chunk.notes.push_back({.kind = Note::Kind::dropped, .count = 7, .text = "filter"});
  expect_round_trip(chunk);
  // A field without values has the memory of one whose size varies.
  expect_round_trip(chunk_of({{field("none", DType::f32, Shape{0}), texts("t", 0)}}, 3));
}

TEST(RowCodec, AChunkIsUsedAgain) {
  const RowSpec wide = {{texts("t", 1), field("x", DType::f32, Shape{20})}};
  const RowSpec narrow = {{field("y", DType::u8, Shape{1}), texts("t", 1)}};
  Chunk first = random_chunk(wide, 20), second = random_chunk(narrow, 2), got;
  for (int64_t row = 0; row < 20; ++row) first.rows.set_text(0, row, cat("text ", row));
  first.fail(std::make_exception_ptr(DataError("bad")));
  for (const Chunk* chunk : {&first, &second, &first}) {
    decode(encoded(*chunk), *chunk, got);
    expect_same(got, *chunk);
  }
  EXPECT_EQ(got.rows.capacity(), 20);
}

TEST(RowCodec, AnyIdsComeBackAndUsualOnesTakeFourBytes) {
  Chunk chunk = chunk_of({}, 1000);
  EXPECT_LT(encoded(chunk).size(), 4 * 1000 + 40u);
  for (int64_t row = 0; row < 1000; ++row) {  // as sources without files have them
    const auto number = static_cast<uint64_t>(row) + 123456;
    chunk.rows.id(row) = {
        .source = kSource, .pass = kPass, .file = kFile, .offset = number, .line = number + 1, .next_line = number + 2};
  }
  EXPECT_LT(encoded(chunk).size(), 4 * 1000 + 40u);
  expect_round_trip(chunk);
  std::mt19937_64 random(1);
  for (int64_t row = 0; row < 1000; ++row) {
    RowId& id = chunk.rows.id(row);
    id.offset = random() >> random() % 64;
    id.line = random() >> random() % 64;
    id.next_line = random() >> random() % 64;
    id.length = static_cast<uint32_t>(random() >> random() % 64);
  }
  chunk.rows.id(7) = {kSource, kPass, kFile, UINT32_MAX, UINT64_MAX, UINT64_MAX, 0};
  chunk.first_record = UINT64_MAX;
  chunk.end_record = 5;
  chunk.lines = State::kMostCount;
  expect_round_trip(chunk);
  chunk.unit.file = nullptr;
  for (int64_t row = 0; row < 1000; ++row) chunk.rows.id(row).file = 0;
  expect_round_trip(chunk);
}

Chunk chunk_with_notes() {
  Chunk chunk = random_chunk({{field("x", DType::f32, Shape{2}), texts("t", 1)}}, 3);
  for (int64_t row = 0; row < 3; ++row) chunk.rows.set_text(1, row, cat("text ", row));
  Note bad = {.kind = Note::Kind::bad_row, .row = 0, .place = {"a.csv", 3, 9}, .text = "not a number"};
  bad.limit = 0;
  bad.field = "x";
  bad.value = std::string("1\0a", 3);
  bad.transform = 0;
  chunk.notes = {bad, bad};
  chunk.notes[1].limit = 12345;
  chunk.notes[1].id = RowId{kSource, kPass, kFile, 17, 900, 5, 6};
  chunk.notes.push_back({.kind = Note::Kind::dropped, .row = 2, .count = State::kMostCount, .text = "filter"});
  chunk.notes.push_back({.kind = Note::Kind::print, .row = 2, .place = {"a.csv", 0, 0}, .text = "a line"});
  chunk.notes.back().transform = 7;
  Note error = {.row = 3, .place = {"b.csv", 12, 1}};
  error.error = std::make_exception_ptr(DataError("the row is short", {"c.csv", 4, 5}, "repair it"));
  error.id = chunk.rows.id(1);
  error.transform = UINT32_MAX - 1;
  chunk.notes.push_back(error);
  return chunk;
}

TEST(RowCodec, NotesOfEveryKindComeBack) { expect_round_trip(chunk_with_notes()); }

// If this checksum changes, so does the form, and kVersion must change, too.
TEST(RowCodec, TheFormIsThatOfItsVersion) {
  const std::string bytes = encoded(chunk_with_notes());
  EXPECT_EQ(RowCodec::kVersion, 1);
  EXPECT_EQ(bytes.size(), 259u);
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kFrameMagicBytes + 1, sizeof sum);
  EXPECT_EQ(sum, 17149787675777729002u);
}

struct SentError {
  std::exception_ptr sent, expected;
};

template <class E, class... Arguments>
SentError same(const Arguments&... arguments) {
  const auto error = std::make_exception_ptr(E(arguments...));
  return {error, error};
}

struct NarrowShapeError : ShapeError {
  using ShapeError::ShapeError;
};

// Each class of errors, and an exception that is not a millrace::Error.
std::vector<SentError> all_errors() {
  const Place place = {"dir/a.csv", 1234567, 89};
  std::vector<SentError> out = {same<ConfigError>("of a key", place, "mend it"),
                                same<ShapeError>("of a shape", place),
                                same<DataError>("", Place(), "mend it"),
                                same<IoError>("of a file", Place{"a", -1, 0}),
                                same<MissingError>(std::string(5000, 'x')),
                                same<DeviceError>("of a device"),
                                same<InternalError>("of the library")};
  out.push_back({std::make_exception_ptr(NarrowShapeError("of a derived class")),
                 std::make_exception_ptr(ShapeError("of a derived class"))});
  out.push_back({std::make_exception_ptr(Error(ErrorKind::missing, "of a kind")),
                 std::make_exception_ptr(MissingError("of a kind"))});
  out.push_back(
      {std::make_exception_ptr(std::runtime_error("of others")), std::make_exception_ptr(InternalError("of others"))});
  out.push_back({std::make_exception_ptr(17), std::make_exception_ptr(InternalError("an exception of unknown type"))});
  return out;
}

TEST(RowCodec, ErrorsKeepTheirClass) {
  for (const SentError& error : all_errors()) {
    std::string bytes;
    RowCodec::encode_error(error.sent, bytes);
    EXPECT_EQ(text_of(RowCodec::decode_error(bytes)), text_of(error.expected));
    Chunk chunk = chunk_of({}, 2), got;
    chunk.fail(1, error.sent);
    decode(encoded(chunk), chunk, got);
    EXPECT_EQ(text_of(got.notes.front().error), text_of(error.expected));
  }
}

TEST(RowCodec, FramesAreAddedToWhatIsThere) {
  const Chunk chunk = chunk_with_notes();
  std::string out = "before";
  RowCodec::encode(chunk, out);
  EXPECT_EQ(out, "before" + encoded(chunk));
}

// What a graph makes of a file, unit by unit, with good, bad and wrong rows.
TEST(RowCodec, ChunksOfAGraphComeBack) {
  MemoryFiles files;
  files.files["a.csv"] = "1,2.5,one\n3,x,two\n\"4\",5,\"th\nree\"\n6,7,four\n8,9\n10,11,five\n12";
  const auto queue = make_op<NameSource>("filename_queue", Spec::map().set("files", "a.csv").set("epochs", 1));
  const auto reader = make_op<RowSource>("csv_reader", Spec::map().set("chunk_bytes", 20));
  const Spec columns = Spec::map()
                           .set("x", Spec::map().set("columns", "0-1").set("type", "float32"))
                           .set("t", Spec::map().set("columns", 2).set("type", "string"));
  int64_t count = 0;
  size_t notes = 0;
  for (const char* const on_bad_row : {"skip", "fail"}) {
    const auto decode_csv =
        make_op<Transform>("decode_csv", Spec::map().set("fields", columns).set("on_bad_row", on_bad_row));
    BindArgs args;
    args.files = &files;
    args.name = "op";
    const Port names = queue->bind(args);
    args.names = queue.get();
    args.inputs = {&names, 1};
    const Port text = reader->bind(args);
    args.inputs = {&text, 1};
    const Port rows = decode_csv->bind(args);
    const TransformChain chain(PortType::none,
                               {{.transform = &reader->producer(), .name = "csv_reader", .output = text},
                                {.transform = decode_csv.get(), .name = "decode_csv", .output = rows}});
    TaskMemory memory;
    Chunk chunk;
    Unit unit;
    for (; reader->next(unit); count += chunk.rows.size(), notes += chunk.notes.size()) {
      chunk.reset(unit);
      ASSERT_EQ(chain.apply(chunk, memory), nullptr);
      expect_round_trip(chunk);
    }
    reader->rewind(0);
  }
  EXPECT_GE(count, 5);
  EXPECT_GE(notes, 4u);
}

TEST(RowCodec, EveryChangedByteIsRefused) {
  const Chunk like = chunk_with_notes();
  const std::string whole = encoded(like);
  std::string error;
  RowCodec::encode_error(like.notes.back().error, error);
  Chunk got;
  const auto refused = [&](std::string_view rows, std::string_view one) {
    return throws_exactly<DataError>([&] { decode(rows, like, got); }) &&
           throws_exactly<DataError>([&] { RowCodec::decode_error(one); });
  };
  EXPECT_TRUE(refused(error, whole)) << "one for the other";
  for (size_t size = 0; size < std::max(whole.size(), error.size()); ++size) {
    EXPECT_TRUE(
        refused(whole.substr(0, std::min(size, whole.size() - 1)), error.substr(0, std::min(size, error.size() - 1))))
        << size;
    for (int bit = 0; bit < 8; ++bit) {
      std::string rows = whole, one = error;
      rows[size % rows.size()] ^= static_cast<char>(1 << bit);
      one[size % one.size()] ^= static_cast<char>(1 << bit);
      EXPECT_TRUE(refused(rows, one)) << size << ", bit " << bit;
    }
  }
  EXPECT_TRUE(refused(whole + '\0', error + '\0'));
  EXPECT_TRUE(refused(whole + whole, error + error));
}

// A frame whose checksum holds, of numbers and texts.
class FrameOf {
 public:
  FrameOf& add(std::initializer_list<uint64_t> numbers) {
    for (const uint64_t number : numbers) parts_.push_back({number, {}});
    return *this;
  }
  FrameOf& add(std::string bytes) {
    parts_.push_back({0, std::move(bytes)});
    return *this;
  }
  std::string rows() const { return frame("mrr"); }
  std::string error() const { return frame("mre"); }

 private:
  std::string frame(std::string_view magic) const {
    std::string out;
    append_frame({magic, RowCodec::kVersion, ""}, out, [&](auto& sink) {
      for (const auto& [number, bytes] : parts_) {
        if (bytes.empty()) {
          sink.number(number);
        } else {
          sink.raw(bytes.data(), bytes.size());
        }
      }
    });
    return out;
  }

  std::vector<std::pair<uint64_t, std::string>> parts_;
};

// Why decode() refuses the frame for rows with the fields. It takes little memory for that.
std::string refusal(const FrameOf& frame, const RowSpec& spec = {}) {
  Chunk chunk;
  const std::string bytes = frame.rows();
  const auto decode_it = [&] { RowCodec::decode(bytes, std::make_shared<const RowSpec>(spec), chunk); };
  EXPECT_TRUE(throws_exactly<DataError>(decode_it));
  EXPECT_LT(chunk.rows.memory().total(), 64 * bytes.size());
  EXPECT_LT(chunk.notes.capacity() * sizeof(Note), 64 * bytes.size());
  const std::string error = error_of(decode_it);
  const std::string_view start = "these bytes are not encoded rows: ";
  return error.starts_with(start) ? error.substr(start.size(), error.find(';') - start.size()) : error;
}

constexpr std::string_view kTooMany = "a count reaches beyond their end", kTooLarge = "a number is too large";

TEST(RowCodec, CountsBeyondTheBytesAreRefused) {
  const RowSpec wide = {{field("x", DType::f32, Shape{8})}};
  const RowSpec empty = {{field("none", DType::f32, Shape{0}), texts("none too", 0)}};
  const RowSpec lists = {{ragged("r", DType::f64)}};
  const std::string forty(40, '\0');
  const auto frame = [] { return FrameOf().add({0, 0, 0}); };
  EXPECT_EQ(refusal(frame().add({11}).add(forty)), kTooMany) << "an id takes four bytes";
  EXPECT_EQ(refusal(frame().add({UINT64_MAX}).add(forty)), kTooMany);
  EXPECT_EQ(refusal(frame().add({2}).add(forty), wide), kTooMany) << "a row takes 36 bytes";
  EXPECT_EQ(refusal(frame().add({7}).add(forty), empty), kTooMany) << "a row takes 6 bytes";
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 6}).add(forty), lists), kTooMany);
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, uint64_t{1} << 61}).add(forty), lists), kTooMany);
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 41}).add(forty), {{texts("t", 1)}}), kTooMany);
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 1, UINT64_MAX}).add(forty), {{texts("t", 1)}}), kTooMany);
  EXPECT_EQ(refusal(frame().add({0, 4}).add(forty)), kTooMany) << "a note takes 12 bytes";
  EXPECT_EQ(refusal(frame().add({0, UINT64_MAX}).add(forty)), kTooMany);
  // Long differences of the ids leave too little for the field.
  EXPECT_EQ(refusal(frame().add({1, UINT64_MAX, UINT64_MAX, 0, 0}).add(std::string(20, '\0')), wide),
            "they end too early");
}

TEST(RowCodec, WhatNoEncoderWritesIsRefused) {
  const RowSpec none = {{field("none", DType::f32, Shape{0})}};
  const auto frame = [](uint64_t lines = 0) { return FrameOf().add({0, 0, lines}); };
  EXPECT_EQ(refusal(FrameOf()), "they end too early");
  EXPECT_EQ(refusal(frame(State::kMostCount + 1).add({0, 0})), kTooLarge);
  EXPECT_EQ(refusal(frame().add({0, 0, 0})), "something follows their end");
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, uint64_t{UINT32_MAX} + 1, 0})), kTooLarge) << "a length";
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 1}).add("abcdefgh"), none), "a field without values has some");
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 2, 0, 0, 0}), {{texts("t", 1)}}),
            "row 0 has 2 texts in the field t, which is string (1)");
  EXPECT_EQ(refusal(frame().add({1, 0, 0, 0, 0, 1, 0, 0}), {{texts("t", 2)}}),
            "row 0 has 1 text in the field t, which is string (2)");
}

// A chunk without rows and with one note, of whose numbers and texts some are others.
struct NoteParts {
  uint64_t kind = 3, row = 0, count = 1, has_id = 0, line = 0, column = 0, transform = 0;
};
FrameOf with_note(const NoteParts& note, uint64_t notes = 1) {
  FrameOf out;
  out.add({0, 0, 0, 0, notes});
  for (uint64_t i = 0; i < notes; ++i) {
    out.add({note.kind, note.row, note.count, note.has_id, 0, note.line, note.column, 0, 0, 0, 0, note.transform});
  }
  return out;
}

TEST(RowCodec, WrongNotesAreRefused) {
  Chunk chunk;
  RowCodec::decode(with_note({}).rows(), std::make_shared<const RowSpec>(), chunk);
  EXPECT_EQ(text_of(chunk.notes.front()), text_of(Note{.kind = Note::Kind::print}));
  EXPECT_EQ(refusal(with_note({.kind = 4})), kTooLarge);
  EXPECT_EQ(refusal(with_note({.row = 1})), kTooLarge) << "beyond the rows";
  EXPECT_EQ(refusal(with_note({.row = UINT64_MAX})), kTooLarge);
  EXPECT_EQ(refusal(with_note({.has_id = 2})), kTooLarge);
  EXPECT_EQ(refusal(with_note({.transform = uint64_t{UINT32_MAX} + 1})), kTooLarge);
  EXPECT_EQ(refusal(with_note({.line = State::kMostCount + 1})), "a place is impossible");
  EXPECT_EQ(refusal(with_note({.column = UINT64_MAX})), "a place is impossible");
  EXPECT_EQ(refusal(with_note({.kind = 2, .count = 0})), "a count of rows is impossible");
  EXPECT_EQ(refusal(with_note({.kind = 2, .count = State::kMostCount + 1})), "a count of rows is impossible");
  EXPECT_EQ(refusal(with_note({.kind = 0}, 2)), "something follows an error");
  EXPECT_EQ(refusal(with_note({.kind = 0})), "they end too early") << "without the error";
  EXPECT_EQ(refusal(with_note({.kind = 0}).add({7, 0, 0, 0, 0, 0})), kTooLarge) << "an error of no kind";
  EXPECT_EQ(refusal(with_note({}).add({1, 0, 0, 0, 0, 0})), "something follows their end") << "an error of a print";
  EXPECT_EQ(error_of([] {
              RowCodec::decode_error(FrameOf().add({0, 0, 0, 0, 0, 9}).error());
            }),
            "these bytes are not an encoded error: a count reaches beyond their end; they were cut off, changed, or "
            "written by something else");
}

TEST(RowCodec, ManyShortRowsTakeAsMuchMemoryAsTheirBytesLetExpect) {
  RowSpec spec;
  for (int i = 0; i < 4; ++i) spec.fields.push_back(field(cat("x", i), DType::u8, Shape{1}));
  for (int i = 0; i < 4; ++i) spec.fields.push_back(ragged(cat("r", i), DType::u8));
  Chunk chunk;
  const std::string bytes = FrameOf().add({0, 0, 0, 1000}).add(std::string(12 * 1000 + 1, '\0')).rows();
  RowCodec::decode(bytes, std::make_shared<const RowSpec>(spec), chunk);
  EXPECT_EQ(chunk.rows.size(), 1000);
  EXPECT_EQ(chunk.rows.id(999).file, 0u);
  EXPECT_LT(chunk.rows.memory().total() + 4000 * sizeof(Varying), 64 * bytes.size());
}

TEST(RowCodec, AChunkThatBreaksARuleIsNotEncoded) {
  const auto refused = [](const auto& change) {
    Chunk chunk = chunk_with_notes();
    change(chunk);
    std::string out = "before";
    EXPECT_TRUE(throws_exactly<InternalError>([&] { RowCodec::encode(chunk, out); }));
    EXPECT_EQ(out, "before");
    return error_of([&] { RowCodec::encode(chunk, out); });
  };
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.rows.id(1).source = 9; }),
            "a chunk has a row of another unit: source 9, pass 5, file 3; expected 2, 5 and 3");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.rows.id(1).pass = 9; }),
            "a chunk has a row of another unit: source 2, pass 9, file 3; expected 2, 5 and 3");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.unit.file = nullptr; }),
            "a chunk has a row of another unit: source 2, pass 5, file 3; expected 2, 5 and 0");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes[1].id->file = 9; }),
            "a chunk has a note of another unit: source 2, pass 5, file 9; expected 2, 5 and 3");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes[0].row = 1; }), "a chunk has notes out of order");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes[0].row = -1; }), "a chunk has notes out of order");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes.back().row = 4; }), "a chunk has notes out of order");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes.back().error = nullptr; }), "a chunk has a null error");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes.push_back({.kind = Note::Kind::print, .row = 3}); }),
            "a chunk has a wrong note: something follows an error");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes[2].count = 0; }),
            "a chunk has a wrong note: a count of rows is impossible");
  EXPECT_EQ(refused([](Chunk& chunk) { chunk.notes[3].place.line = -1; }),
            "a chunk has a wrong note: a place is impossible");
  Chunk chunk = chunk_with_notes();
  chunk.rows.add_text(1, 2, "one more");
  EXPECT_EQ(error_of([&] { encoded(chunk); }), "row 2 has 2 texts in the field t, which is string (1)");
}

}  // namespace
}  // namespace millrace
