#include <gtest/gtest.h>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/cli/convert/made_rows.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    for (const int digit : {number >> 4, number & 15}) out += "0123456789abcdef"[digit];
  }
  return out;
}

// "features floats 0000803f ..\n": the list of each feature, integers in eight bytes, each text by itself.
std::string described(const RowBlock& rows) {
  std::string out;
  for (int64_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
      const FieldSpec& field = rows.spec().fields[i];
      out += field.name;
      if (field.text) {
        out += " bytes";
        for (size_t t = 0; t < rows.varying(i, row).texts(); ++t) out += ' ' + hex(rows.varying(i, row).text(t));
      } else {
        with_number_type(field.dtype, [&](auto zero) {
          using T = decltype(zero);
          const std::span<const T> numbers = rows.numbers<T>(i, row);
          const std::string_view stored(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
          if (std::is_same_v<T, float>) out += " floats " + hex(stored);
          if (std::is_same_v<T, double> || field.name == "pixels") out += " bytes " + hex(stored);
          if (std::is_integral_v<T> && field.name != "pixels") {
            out += " integers ";
            for (const T number : numbers) {
              const auto wide = static_cast<int64_t>(number);
              out += hex({reinterpret_cast<const char*>(&wide), sizeof wide});
            }
          }
        });
      }
      out += '\n';
    }
  }
  return out;
}

// What Python says of the file, as described() does: without TensorFlow by what the description of the format says.
const char* const kByFormat = R"(
import struct
def crc32c(data):
  crc = 0xffffffff
  for byte in data:
    crc ^= byte
    for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
  crc ^= 0xffffffff
  return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
def varint(data, at):
  value = shift = 0
  while True:
    value |= (data[at] & 127) << shift
    shift += 7
    at += 1
    if data[at - 1] < 128: return value, at
def fields(data):
  at = 0
  while at < len(data):
    tag, at = varint(data, at)
    assert tag & 7 == 2
    size, at = varint(data, at)
    assert at + size <= len(data)
    yield tag >> 3, data[at:at + size]
    at += size
def integers(data):
  at = 0
  while at < len(data):
    value, at = varint(data, at)
    yield value
data = open('a.tfrecord', 'rb').read()
at = 0
while at < len(data):
  size, check = struct.unpack_from('<QI', data, at)
  assert check == crc32c(data[at:at + 8])
  record = data[at + 12:at + 12 + size]
  assert struct.unpack_from('<I', data, at + 12 + size)[0] == crc32c(record)
  at += 16 + size
  [(number, features)] = fields(record)
  assert number == 1
  for one, entry in fields(features):
    (_, name), (_, feature) = fields(entry)
    [(kind, values)] = fields(feature)
    values = [value for number, value in fields(values) if number == 1]
    if kind == 3: values = [b''.join(struct.pack('<Q', value) for value in integers(b''.join(values)))]
    if kind == 2: values = [b''.join(values)]
    print(name.decode(), [0, 'bytes', 'floats', 'integers'][kind], *(value.hex() for value in values))
)";
const char* const kByTensorFlow = R"(
import struct
import tensorflow as tf
for record in tf.data.TFRecordDataset('a.tfrecord'):
  example = tf.train.Example.FromString(record.numpy())
  features = example.features.feature
  for name in ['features', 'price', 'image', 'wide', 'count', 'id', 'pixels', 'name', 'words', 'ids', 'weights', 'tags']:
    feature = features[name]
    kind = feature.WhichOneof('kind')
    if kind == 'bytes_list': values = list(feature.bytes_list.value)
    if kind == 'float_list': values = [struct.pack(f'<{len(feature.float_list.value)}f', *feature.float_list.value)]
    if kind == 'int64_list': values = [struct.pack(f'<{len(feature.int64_list.value)}q', *feature.int64_list.value)]
    kind = {'bytes_list': 'bytes', 'float_list': 'floats', 'int64_list': 'integers'}[kind]
    print(name, kind, *(value.hex() for value in values))
)";

void expect_described(const char* script) {
  const TempFolder folder;
  for (const int64_t count : {60, 1, 0}) {
    const RowBlock rows = made_rows(all_fields(), count);
    write_rows(*make_tfrecord_writer({rows.spec()}), folder.path("a.tfrecord"), rows);
    const auto result = testing::run_command({"/usr/bin/python3", "-c", script}, {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, described(rows));
  }
}

TEST(TfRecordWriter, TheRecordsHaveTheBitsOfTheRows) { expect_described(kByFormat); }

TEST(TfRecordWriter, TensorFlowReadsTheSameBits) {
  if (testing::run_command({"/usr/bin/python3", "-c", "import tensorflow"}).exit_code != 0) {
    GTEST_SKIP() << "there is no TensorFlow";
  }
  expect_described(kByTensorFlow);
}

TEST(TfRecordWriter, TwoOpsReadIt) {
  EXPECT_EQ(to_yaml(make_tfrecord_writer({all_fields()})->readers()),
            "- tfrecord_reader\n"
            "- decode_example:\n"
            "    fields:\n"
            "      features: {size: 3}\n"
            "      price: {type: float64}\n"
            "      image: {size: [2, 1, 2]}\n"
            "      wide: {type: float64, size: [2, 2]}\n"
            "      count: {type: int32, size: 2}\n"
            "      id: {type: int64}\n"
            "      pixels: {type: uint8, size: 5}\n"
            "      name: {type: string}\n"
            "      words: {type: string, size: 2}\n"
            "      ids: {type: int64, split: \" \"}\n"
            "      weights: {split: \";\"}\n"
            "      tags: {type: string, split: \"|\"}\n");
  const RowSpec large = {{{"x", DType::f32, Shape{3000, 2000}}}};
  EXPECT_EQ(to_yaml(make_tfrecord_writer({large})->readers()),
            "- tfrecord_reader: {max_record_bytes: 24000065}\n"
            "- decode_example:\n"
            "    fields:\n"
            "      x: {size: [3000, 2000]}\n");
}

TEST(TfRecordWriter, EveryTypeReadsBackToTheSameBits) {
  const OpRegistry ops = builtin_ops();
  if (!ops.entries().contains("decode_example")) GTEST_SKIP() << "this build reads no TFRecords";
  const TempFolder folder;
  RowSpec spec = all_fields();
  spec.fields.push_back(ragged({"doubles", DType::f64, Shape{1}}, ' '));
  spec.fields.push_back(ragged({"bytes", DType::u8, Shape{1}}, ' '));
  spec.fields.push_back({"byte", DType::u8, Shape{1}});
  const RowBlock rows = made_rows(spec, 300);
  const auto writer = make_tfrecord_writer({spec});
  write_rows(*writer, folder.path("a.tfrecord"), rows);
  Spec list = Spec::list({Spec::map({{"filename_queue", {{"files", folder.path("a.tfrecord")}, {"epochs", 1}}}})});
  const Spec readers = writer->readers();
  for (const Spec& op : readers.items()) list.append(op);
  list.append(Spec::map({{"batch", {{"batch_size", 300}}}}));
  Pipeline pipeline(InputGraph::build(parse_yaml(to_yaml(list), "list"), ops, {}), {});
  EXPECT_EQ(pipeline.rows(), spec);
  RowBlock batch = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(batch), 300);
  for (int64_t row = 0; row < 300; ++row) EXPECT_EQ(bits_of(batch, row), bits_of(rows, row)) << row;
}

TEST(TfRecordWriter, RefusesWhatNoFeatureHolds) {
  const auto refused = [](const RowSpec& rows) {
    return error_of<ConfigError>([&] { make_row_writer("tfrecord", {rows}); });
  };
  EXPECT_EQ(refused({{{"empty", DType::f32, Shape{0}}}}),
            "--to tfrecord: empty has no values, as a feature that is missing");
  EXPECT_EQ(refused({{{"\xff", DType::f32, Shape{1}}}}),
            "--to tfrecord: the name \"\xff\" is not UTF-8, which TensorFlow needs");
  EXPECT_EQ(refused({{{"x", DType::f64, Shape{1 << 27}}}}),
            "--to tfrecord: a row takes 1073741889 bytes, more than tfrecord_reader reads");
}

TEST(TfRecordWriter, ARowThatIsTooLongIsAnErrorAtItsPlace) {
  const TempFolder folder;
  RowBlock rows;
  rows.configure({{texts("text", 1)}}, 2);
  rows.resize(2);
  rows.set_text(0, 0, "short");
  rows.set_text(0, 1, std::string(16 << 20, 'x'));
  EXPECT_EQ(
      error_of<DataError>([&] { write_rows(*make_tfrecord_writer({rows.spec()}), folder.path("a.tfrecord"), rows); }),
      "made:2: the row takes 16777247 bytes, at most 16777216 are allowed; leave out such rows, or the field");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.tfrecord")));
}

}  // namespace
}  // namespace millrace::cli
