#include "millrace/input/hdf5/hdf5_dataset.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/input/hdf5/has_hdf5.h"
#include "tests/input/hdf5/hdf5_bytes.h"
#include "tests/input/op_testing.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::hdf5_file;
using testing_support::hdf5_float;
using testing_support::hdf5_integer;
using testing_support::MemoryFiles;

class Hdf5DatasetTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_HDF5(); }

  std::unique_ptr<Hdf5Dataset> open(const std::string& path, const std::string& name) const {
    return std::make_unique<Hdf5Dataset>(Hdf5Dataset::Settings{
        .file = std::make_shared<FileEntry>(FileEntry{.path = path, .size = std::filesystem::file_size(path)}),
        .name = name,
        .pool = pool_});
  }
  std::string fixture(const std::string& name) const { return test::source_dir() + "/tests/data/formats/hdf5/" + name; }

  static std::string bytes(const Hdf5Dataset& dataset, uint64_t row, uint64_t rows) {
    const uint64_t row_bytes = dataset.layout().row_bytes();
    std::string out(static_cast<size_t>(rows * row_bytes), '\0');
    EXPECT_EQ(dataset.read(row * row_bytes, out.data(), out.size()), out.size());
    return out;
  }
  std::string type_of(const std::string& type, size_t bytes) {
    folder_.write("a.h5", hdf5_file({{"x", type, {2}, std::string(2 * bytes, '\1')}}));
    std::string out;
    const std::string error = error_of([&] {
      const NumberFormat found = open(folder_.path("a.h5"), "/x")->layout().numbers;
      out = cat(OptionType<NumberType>::write(found.type).as_string(), found.big_endian ? " big" : "");
    });
    return out.empty() ? error : out;
  }

  const TempFolder folder_;
  const std::shared_ptr<Hdf5Pool> pool_ = [] {
    auto pool = std::make_shared<Hdf5Pool>();
    pool->files = &FileSystem::local();
    return pool;
  }();
};

TEST_F(Hdf5DatasetTest, GivesTheNumbersAsTheyAreStored) {
  const std::string numbers = bytes_of_numbers<float>({1, 2, 3, 4, 5, 6}),
                    big = bytes_of_numbers<int16_t>({1, -2, 3}, true);
  folder_.write("a.h5",
                hdf5_file({{"x", hdf5_float(4, 8), {3, 2}, numbers}, {"y", hdf5_integer(2, true, true), {3}, big}}));
  const auto x = open(folder_.path("a.h5"), "/x"), y = open(folder_.path("a.h5"), "y");
  EXPECT_EQ(x->layout().rows, 3u);
  EXPECT_EQ(x->layout().row, Shape{2});
  EXPECT_EQ(x->size(), 24u);
  EXPECT_EQ(x->block_rows(), 1u);
  EXPECT_EQ(bytes(*x, 0, 3), numbers);
  EXPECT_EQ(bytes(*x, 1, 1), numbers.substr(8, 8));
  EXPECT_EQ(bytes(*y, 0, 3), big);
  EXPECT_TRUE(y->layout().numbers.big_endian);
}

TEST_F(Hdf5DatasetTest, KnowsTheTypesOfNumbers) {
  EXPECT_EQ(type_of(hdf5_integer(1, false), 1), "uint8");
  EXPECT_EQ(type_of(hdf5_integer(1), 1), "int8");
  EXPECT_EQ(type_of(hdf5_integer(2, false, true), 2), "uint16 big");
  EXPECT_EQ(type_of(hdf5_integer(2), 2), "int16");
  EXPECT_EQ(type_of(hdf5_integer(4, false), 4), "uint32");
  EXPECT_EQ(type_of(hdf5_integer(4), 4), "int32");
  EXPECT_EQ(type_of(hdf5_integer(8), 8), "int64");
  EXPECT_EQ(type_of(hdf5_float(2, 5), 2), "float16");
  EXPECT_EQ(type_of(hdf5_float(4, 8), 4), "float32");
  EXPECT_EQ(type_of(hdf5_float(8, 11, true), 8), "float64 big");
}

TEST_F(Hdf5DatasetTest, RefusesOtherTypesByName) {
  const std::string hint = ", expected numbers; store numbers in a dataset of their own";
  EXPECT_EQ(type_of(hdf5_integer(8, false), 8),
            "the dataset holds uint64, which no field can hold, expected numbers; store x.astype(\"int64\")");
  EXPECT_EQ(type_of(hdf5_float(2, 8), 2), "the dataset holds floats of 16 bits with 8 bits of exponent" + hint);
  std::string odd = hdf5_integer(4);
  odd[10] = 24;
  EXPECT_EQ(type_of(odd, 4),
            "the dataset holds integers of 24 bits, expected numbers; store integers of 8, 16, 32 or 64 bits");
  EXPECT_EQ(type_of(cat('\x13', std::string(3, '\0'), testing_support::number_bytes(4, 4)), 4),
            "the dataset holds texts" + hint);
}

TEST_F(Hdf5DatasetTest, SaysWhichDatasetsThereAre) {
  folder_.write("a.h5", hdf5_file({{"images", hdf5_integer(1), {1}, "1"}, {"labels", hdf5_integer(1), {1}, "2"}}));
  const auto error = [&](const std::string& name) { return error_of([&] { open(folder_.path("a.h5"), name); }); };
  EXPECT_EQ(error("/y"), "the file has no such dataset; it has /images and /labels");
  EXPECT_EQ(error("label"), "the file has no such dataset; did you mean /labels?");
  EXPECT_EQ(error("/"), "the file has no such dataset; it has /images and /labels") << "a group";
  folder_.write("a.h5", hdf5_file({}));
  EXPECT_EQ(error("/x"), "the file has no such dataset; it has none");
  folder_.write("a.h5", "no file of HDF5");
  EXPECT_EQ(error("/x").substr(0, 36), "cannot open the file, libhdf5 says: ");
}

TEST_F(Hdf5DatasetTest, ShapesMustFitWhatIsStored) {
  const auto error = [&](const std::vector<uint64_t>& sizes, const std::string& data) {
    folder_.write("a.h5", hdf5_file({{"x", hdf5_integer(2), sizes, data}}));
    return error_of([&] { open(folder_.path("a.h5"), "/x"); });
  };
  EXPECT_EQ(error({2}, "abcd"), "no error");
  EXPECT_EQ(error({}, "ab"), "the array is a single number, which has no rows");
  EXPECT_EQ(error({1, 2, 0}, ""), "the array has shape (1, 2, 0): its rows have no values");
  EXPECT_NE(error({3}, "abcd"), "no error");
  EXPECT_NE(error({uint64_t{1} << 62, 4}, "abcd"), "no error");
  EXPECT_NE(error({1, 1, 1, 1, 1, 1, 1}, "ab"), "no error");
}

// Written by h5py: scripts/make-format-fixtures.
TEST_F(Hdf5DatasetTest, ReadsWhatH5pyWrites) {
  for (const char* file : {"old.h5", "new.h5"}) {
    for (const char* name : {"plain", "gzip", "parts", "grown", "group/linked"}) {
      const auto dataset = open(fixture(file), name);
      ASSERT_EQ(dataset->layout().rows, 50u) << file << name;
      EXPECT_EQ(dataset->layout().row, (Shape{4, 3}));
      std::vector<int16_t> expected;
      for (int i = 0; i < 50 * 12; ++i) expected.push_back(static_cast<int16_t>(i * 7 - 100));
      EXPECT_EQ(bytes(*dataset, 0, 50), bytes_of_numbers(expected)) << file << ' ' << name;
      EXPECT_EQ(bytes(*dataset, 13, 5), bytes_of_numbers(expected).substr(13 * 24, 5 * 24)) << file << ' ' << name;
    }
    EXPECT_EQ(open(fixture(file), "gzip")->block_rows(), 8u);
    EXPECT_EQ(open(fixture(file), "parts")->block_rows(), 10u);
    EXPECT_EQ(open(fixture(file), "plain")->block_rows(), 1u);
    const auto flags = open(fixture(file), "flags");
    EXPECT_EQ(flags->layout().numbers.type, NumberType::boolean);
    EXPECT_EQ(bytes(*flags, 0, 4), std::string("\1\0\0\1", 4));
    EXPECT_EQ(open(fixture(file), "names")->layout().numbers.type, NumberType::uint8) << "an enumeration";
  }
  EXPECT_EQ(pool_->memory, 4u * 10 * 2 * 2 * 2) << "the chunks of parts that hold the same rows";
  EXPECT_EQ(pool_->warning, "");
}

TEST_F(Hdf5DatasetTest, RefusesWhatH5pyWritesBesides) {
  const auto error = [&](const std::string& name) { return error_of([&] { open(fixture("new.h5"), name); }); };
  EXPECT_EQ(error("pairs"),
            "the dataset holds compound values, expected numbers; store numbers in a dataset of their own");
  EXPECT_EQ(error("words").substr(0, 23), "the dataset holds texts");
  EXPECT_EQ(error("lists").substr(0, 23), "the dataset holds lists");
  EXPECT_EQ(error("references").substr(0, 28), "the dataset holds references");
  EXPECT_EQ(error("outside"), "it is a link to another file, which is not followed; name that file in filename_queue");
  EXPECT_EQ(error("virtual"), "the numbers of the dataset lie in other files; read those, or copy it by h5repack");
  EXPECT_EQ(error("external"), "the numbers of the dataset lie in other files; read those, or copy it by h5repack");
  EXPECT_EQ(error("unwritten"), "the dataset has a shape, but nothing was ever written to it");
  EXPECT_EQ(error("nothing"), "the dataset holds nothing");
  EXPECT_EQ(
      error("lzf"),
      "the dataset is compressed by filter 32000 (lzf), which this libhdf5 lacks; name the folder of its plugin in "
      "HDF5_PLUGIN_PATH, or compress by gzip");
  EXPECT_EQ(error("nowhere").substr(0, 28), "the file has no such dataset");
}

TEST_F(Hdf5DatasetTest, FewAreOpenAtATime) {
  pool_->most = 2;
  std::vector<std::unique_ptr<Hdf5Dataset>> all;
  for (char name = 'a'; name < 'e'; ++name) {
    folder_.write(cat(name, ".h5"), hdf5_file({{"x", hdf5_integer(1), {2}, cat(name, name)}}));
    all.push_back(open(folder_.path(cat(name, ".h5")), "x"));
  }
  for (const size_t i : {0u, 1u, 0u, 2u, 3u, 0u, 1u}) {
    EXPECT_EQ(bytes(*all[i], 1, 1), std::string(1, static_cast<char>('a' + i)));
    EXPECT_LE(pool_->open.size(), 2u);
    EXPECT_EQ(pool_->open.back(), all[i].get());
  }
  all.erase(all.begin());
  EXPECT_EQ(pool_->open.size(), 1u) << "one that is gone is open no more";
}

TEST_F(Hdf5DatasetTest, NoticesAnotherShape) {
  folder_.write("a.h5", hdf5_file({{"x", hdf5_integer(1), {2}, "ab"}}));
  const auto dataset = open(folder_.path("a.h5"), "x");
  folder_.write("a.h5", hdf5_file({{"x", hdf5_integer(1), {3}, "abc"}}));
  EXPECT_EQ(
      error_of([&] { bytes(*dataset, 0, 1); }),
      "dataset \"x\": the dataset has changed since the run began; do not write to input files while they are read");
}

TEST_F(Hdf5DatasetTest, ReadsFilesOfAProgram) {
  MemoryFiles files;
  files.files["a.h5"] = hdf5_file({{"x", hdf5_integer(1), {2}, "ab"}});
  pool_->files = &files;
  const Hdf5Dataset dataset(
      {.file = std::make_shared<FileEntry>(FileEntry{.path = "a.h5", .size = files.files["a.h5"].size()}),
       .name = "x",
       .pool = pool_});
  EXPECT_EQ(bytes(dataset, 0, 2), "ab");
  EXPECT_EQ(pool_->images, files.files["a.h5"].size());
  EXPECT_EQ(pool_->memory, files.files["a.h5"].size()) << "the library's copy";
}

}  // namespace
}  // namespace millrace
