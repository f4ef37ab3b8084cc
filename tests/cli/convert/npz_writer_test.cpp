#include <gtest/gtest.h>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/cli/convert/made_rows.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    out += kDigits[number >> 4];
    out += kDigits[number & 15];
  }
  return out;
}

// "features <f4 (300, 3) 0000803f..\n", for each field.
std::string described(const RowBlock& rows) {
  std::string out;
  for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
    const FieldSpec& field = rows.spec().fields[i];
    constexpr std::string_view kTypes[] = {"<f4", "<f8", "<i4", "<i8", "|u1"};
    out += cat(field.name, ' ', kTypes[static_cast<size_t>(field.dtype)], ' ',
               field.shape == Shape{1} ? cat('(', rows.size(), ",)") : field.shape.with_batch(rows.size()).text(), ' ');
    for (int64_t row = 0; row < rows.size(); ++row) {
      out += hex({reinterpret_cast<const char*>(rows.at(i, row)), field.tensor().bytes()});
    }
    out += '\n';
  }
  return out;
}

// What Python says of the archive, as described() does: without NumPy it reads what the format's description says.
testing::CommandResult read_by(const std::string& program, const std::string& script, const TempFolder& folder) {
  return testing::run_command({program, "-c", script}, {.folder = folder.path()});
}
const char* const kByFormat =
    "import ast, zipfile\n"
    "archive = zipfile.ZipFile('a.npz')\n"
    "assert archive.testzip() is None\n"
    "for name in archive.namelist():\n"
    "  a = archive.read(name)\n"
    "  begin = 10 + a[8] + 256 * a[9]\n"
    "  facts = ast.literal_eval(a[10:begin].decode())\n"
    "  assert a[:8] == b'\\x93NUMPY\\x01\\x00' and begin % 64 == 0 and facts['fortran_order'] is False\n"
    "  assert name.endswith('.npy')\n"
    "  print(name[:-4], facts['descr'], facts['shape'], a[begin:].hex())\n";
const char* const kByNumPy =
    "import numpy\n"
    "arrays = numpy.load('a.npz')\n"
    "for name in arrays:\n"
    "  a = arrays[name]\n"
    "  assert a.flags.c_contiguous\n"
    "  print(name, a.dtype.str, a.shape, a.tobytes().hex())\n";

void expect_bits(const std::string& program, const std::string& script) {
  const TempFolder folder;
  const RowSpec spec = number_fields();
  for (const int64_t count : {300, 1, 0}) {
    const RowBlock rows = made_rows(spec, count);
    write_rows(*make_npz_writer({spec}), folder.path("a.npz"), rows);
    const auto result = read_by(program, script, folder);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, described(rows));
  }
}

TEST(NpzWriter, TheArraysHaveTheBitsOfTheRows) { expect_bits("/usr/bin/python3", kByFormat); }

TEST(NpzWriter, NumPyReadsTheSameBits) {
  const std::string python = "/usr/bin/python3";  // Debian's, which has its NumPy
  if (testing::run_command({python, "-c", "import numpy"}).exit_code != 0) GTEST_SKIP() << "there is no NumPy";
  expect_bits(python, kByNumPy);
}

// More than a group of rows (FieldRows), so that the values come back from a file.
TEST(NpzWriter, ManyRowsAreWholeArrays) {
  const TempFolder folder;
  const RowSpec spec = {{{"x", DType::i64, Shape{200}}, {"y", DType::i32, Shape{1}}}};
  constexpr int64_t kRows = 10000;
  RowBlock rows;
  rows.configure(spec, kRows);
  rows.resize(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < 200; ++i) rows.row<int64_t>(0, row)[i] = row * 200 + i;
    *rows.row<int32_t>(1, row) = static_cast<int32_t>(-row);
  }
  write_rows(*make_npz_writer({spec}), folder.path("a.npz"), rows);
  const auto result = read_by("/usr/bin/python3",
                              "import array, zipfile\n"
                              "archive = zipfile.ZipFile('a.npz')\n"
                              "x, y = archive.read('x.npy'), archive.read('y.npy')\n"
                              "print(array.array('q', x[128:]) == array.array('q', range(2000000)),\n"
                              "      array.array('i', y[128:]) == array.array('i', range(0, -10000, -1)))\n",
                              folder);
  EXPECT_EQ(result.out, "True True\n") << result.err;
}

TEST(NpzWriter, OneOpReadsIt) {
  const RowSpec spec = {{{"x", DType::f32, Shape{2}}, {"a b", DType::i32, Shape{1}}}};
  EXPECT_EQ(to_yaml(make_npz_writer({spec})->readers()), "- npz_reader: {fields: {x: x, \"a b\": \"a b\"}}\n");
}

TEST(NpzWriter, RefusesWhatNoArrayHolds) {
  const RowSpec words = {{{"x", DType::f32, Shape{2}}, texts("words", 2)}},
                lists = {{ragged({"ids", DType::i64, Shape{1}}, ' ')}},
                long_name = {{{std::string(65532, 'x'), DType::f32, Shape{1}}}};
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("npz", {words}); }),
            "--to npz: an array cannot hold words, which is string (2); make numbers of the texts with vocabulary, or "
            "of pictures with decode_image, or write csv");
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("npz", {lists}); }),
            "--to npz: an array cannot hold ids, which is int64 (ragged); give all rows the same length with pad, or "
            "write csv");
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("npz", {long_name}); }),
            cat("--to npz: an archive cannot hold the name ", quote(std::string(65532, 'x'))));
}

}  // namespace
}  // namespace millrace::cli
