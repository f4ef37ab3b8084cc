// Any bytes as encoded rows or as an encoded error, under a checksum that holds: they are refused with an error of the
// data, or what they decode to is encoded to bytes that decode to the same. Memory follows the bytes, and not the
// counts in them.
//
// The first byte of an input chooses the fields of the rows, or an error; the rest is what the frame holds.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/rows/frame_bytes.h"
#include "millrace/input/rows/row_codec.h"

namespace millrace {
namespace {

constexpr size_t kBytesForAByte = 64;

[[noreturn]] void report(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::string frame_of(std::string_view magic, std::string_view held) {
  std::string out;
  append_frame({magic, RowCodec::kVersion, ""}, out, [&](auto& sink) { sink.raw(held.data(), held.size()); });
  return out;
}

FieldSpec numbers(DType dtype, const Shape& shape) { return {.name = "x", .dtype = dtype, .shape = shape}; }
FieldSpec list(DType dtype) { return {.name = "list", .dtype = dtype, .shape = Shape{1}, .split = ' '}; }
FieldSpec texts(int64_t columns) { return {.name = "texts", .shape = Shape{columns}, .text = true}; }
FieldSpec list_of_texts() { return {.name = "list", .shape = Shape{1}, .text = true, .split = ' '}; }

std::vector<SharedRowSpec> all_specs() {
  std::vector<SharedRowSpec> out;
  for (const std::vector<FieldSpec>& fields : std::vector<std::vector<FieldSpec>>{
           {},
           {numbers(DType::f32, Shape{3})},
           {numbers(DType::u8, Shape{1}), numbers(DType::i64, Shape{8}), numbers(DType::u8, Shape{64})},
           {texts(1), list(DType::f64)},
           {numbers(DType::i32, Shape{1}), texts(2), list(DType::u8)},
           {list_of_texts(), numbers(DType::f32, Shape{0}), texts(0)},
       }) {
    out.push_back(std::make_shared<const RowSpec>(RowSpec{fields}));
  }
  return out;
}

std::string encoded(const Chunk& chunk) {
  std::string out;
  RowCodec::encode(chunk, out);
  return out;
}

size_t memory_of(const Chunk& chunk) {
  size_t bytes = chunk.rows.memory().total() + chunk.notes.capacity() * sizeof(Note);
  const std::vector<FieldSpec>& fields = chunk.rows.spec().fields;
  for (size_t field = 0; field < fields.size(); ++field) {
    if (fields[field].row_bytes() > 0) continue;
    for (int64_t row = 0; row < chunk.rows.size(); ++row)
      bytes += sizeof(Varying) + chunk.rows.varying(field, row).bytes();
  }
  return bytes;
}

void check_rows(const SharedRowSpec& spec, std::string_view held) {
  static Chunk used;  // holds what came before
  const std::string frame = frame_of("mrr", held);
  Chunk fresh;
  bool refused = false;
  try {
    RowCodec::decode(frame, spec, fresh);
  } catch (const DataError&) {
    refused = true;
  }
  if (memory_of(fresh) > kBytesForAByte * frame.size()) report(cat(memory_of(fresh), " bytes for ", frame.size()));
  if (refused) return;
  const std::string again = encoded(fresh);
  RowCodec::decode(again, spec, used);
  if (encoded(used) != again) report("the rows do not come back");
  RowCodec::decode(frame, spec, used);
  if (encoded(used) != again) report("the rows depend on what the chunk held before");
}

void check_error(std::string_view held) {
  std::exception_ptr error;
  try {
    error = RowCodec::decode_error(frame_of("mre", held));
  } catch (const DataError&) {
    return;
  }
  std::string once, twice;
  RowCodec::encode_error(error, once);
  RowCodec::encode_error(RowCodec::decode_error(once), twice);
  if (once != twice) report("the error does not come back");
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<millrace::SharedRowSpec> specs = millrace::all_specs();
  if (size == 0) return 0;
  const std::string_view held(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t choice = data[0] % (specs.size() + 1);
  if (choice < specs.size()) {
    millrace::check_rows(specs[choice], held);
  } else {
    millrace::check_error(held);
  }
  return 0;
}
