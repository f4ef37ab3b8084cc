#include "millrace/input/files/foreign_file.h"

#include <gtest/gtest.h>

#include <utility>

#include "millrace/core/text.h"

namespace millrace {
namespace {

using namespace std::string_view_literals;

std::string hint(std::string_view start, bool from_pipe = true) {
  const auto found = foreign_file(start, from_pipe);
  return found ? found->hint() : std::string();
}

TEST(ForeignFile, CompressedFilesCanBePiped) {
  EXPECT_EQ(hint("\x1f\x8b\x08"),
            "the file is compressed by gzip: decompress it first: zcat FILE > data.csv; or read standard input: zcat "
            "FILE | trainer .. with files: \"-\" or --data -");
  EXPECT_EQ(hint("BZh91AY&SY", false), "the file is compressed by bzip2: decompress it first: bzcat FILE > data.csv");
  EXPECT_EQ(hint("\x28\xb5\x2f\xfd", false),
            "the file is compressed by zstd: decompress it first: zstdcat FILE > data.csv");
  EXPECT_TRUE(hint("\xfd\x37zXZ\0").starts_with("the file is compressed by xz"));
}

TEST(ForeignFile, TheHintWhereNoTextIsReadNamesNoCsvToUnpackTo) {
  for (const auto& [start, name] : {std::pair("\x1f\x8b", "gzip"), std::pair("\x28\xb5\x2f\xfd", "zstd")}) {
    EXPECT_EQ(foreign_file(start)->binary_hint(),
              cat("the file is compressed by ", name, ": unpack it first: ", name, " -d FILE"));
  }
  EXPECT_EQ(foreign_file("\x93NUMPY")->binary_hint(), hint("\x93NUMPY"));
}

// The head of a zip archive whose first member has that name.
std::string zip_of(std::string_view name) {
  std::string out = "PK\x03\x04\n" + std::string(25, '\0');
  out[26] = static_cast<char>(name.size());
  return out + std::string(name) + "\x01\x02\x03";
}

TEST(ForeignFile, ArchivesAreToldByTheirFirstMember) {
  EXPECT_EQ(hint(zip_of("train.csv"), false), "the file is a zip archive: extract it first: unzip FILE");
  EXPECT_NE(hint(zip_of("train.csv")).find("unzip -p FILE | trainer .. with files: \"-\" or --data -"),
            std::string::npos);
  EXPECT_EQ(hint(zip_of("images.npy")),
            "the file is an archive of NumPy arrays (.npz): read it by the op npz_reader: {fields: {features: NAME}}, "
            "with the names of its arrays");
  for (const char* name : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "mimetype"}) {
    EXPECT_EQ(hint(zip_of(name)), "the file is a workbook (.xlsx, .ods): save a sheet of it as CSV first") << name;
  }
  EXPECT_TRUE(hint("PK\x03\x04").starts_with("the file is a zip archive"));
}

TEST(ForeignFile, ATarArchiveHasAMarkAfterZeros) {
  std::string tar = "data.csv" + std::string(249, '\0') + "ustar";
  EXPECT_EQ(hint(tar), "the file is a tar archive: unpack it first: tar xf FILE");
  EXPECT_TRUE(foreign_file(tar)->certain);
  EXPECT_EQ(hint(tar.substr(0, 261)), "");
  EXPECT_EQ(hint(std::string(257, 'a') + "ustar"), "") << "a text";
}

TEST(ForeignFile, WhatHoldsDataIsReadByItsOpOrWrittenAsCsv) {
  EXPECT_EQ(
      hint("\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c"sv),
      "the file is in the IDX format, as MNIST is: read it by the op idx_reader: {fields: {features: IMAGES, label: "
      "LABELS}}");
  EXPECT_TRUE(hint("\0\0\x08\x01\0"sv).starts_with("the file is in the IDX format"));
  EXPECT_EQ(hint("PAR1\x15\x04"),
            "the file is in the Parquet format: read it by the op parquet_reader: {fields: {features: {columns: [..]}, "
            "label: {columns: ..}}}");
  EXPECT_EQ(hint("\x93NUMPY\x01"),
            "the file is a NumPy array: read it by the op npy_reader: {fields: {features: FILE}}");
  EXPECT_EQ(hint("\x89HDF\r\n\x1a\n"),
            "the file is in the HDF5 format: read it by the op hdf5_reader: {fields: {features: /x, label: /y}}");
  EXPECT_EQ(hint("\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\xde\xc0\xef\xbe\x01"sv),
            "the file is an LMDB database: read it by the op lmdb_reader: {path: FOLDER, fields: {features: {type: .., "
            "size: ..}}}");
  EXPECT_TRUE(hint("\x80\x04\x95").starts_with("the file is a Python pickle: write it as CSV first"));
  EXPECT_TRUE(hint("\xd0\xcf\x11\xe0\xa1").starts_with("the file is a workbook (.xls)"));
}

TEST(ForeignFile, ModelFilesAreUsedOtherwise) {
  EXPECT_EQ(hint("\x40\x05\0\0\0\0\0\0{\"__metadata__\":{"sv),
            "the file is a model file: trainer evaluate and trainer predict use it, by --model");
  EXPECT_TRUE(hint("\0\0\x08\x01\0\0\0\0{\"__metadata__\":{"sv).starts_with("the file is a model file"))
      << "not IDX, whatever its length is";
  EXPECT_EQ(hint("\0\0\n\x03\0"sv), "") << "IDX has no type of that number, and a line ends there";
}

TEST(ForeignFile, Images) {
  EXPECT_EQ(hint("\x89PNG\r\n\x1a\n"),
            "the file is a PNG image: image_folder reads pictures, and decode_image decodes them; "
            "docs/formats.md has an example");
  EXPECT_TRUE(hint("\xff\xd8\xff\xe0").starts_with("the file is a JPEG image"));
}

TEST(ForeignFile, OtherEncodings) {
  EXPECT_EQ(hint("\xff\xfe"
                 "1"),
            "the file is UTF-16: convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8");
  EXPECT_TRUE(hint("\xfe\xff").starts_with("the file is UTF-16"));
  EXPECT_EQ(hint("\xff\xfe\0\0"sv), "the file is UTF-32: convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8");
  EXPECT_EQ(hint("1\0,\0"sv),
            "the file has NUL bytes, as UTF-16 has: convert it to UTF-8 first: iconv -f UTF-16LE -t UTF-8");
  EXPECT_TRUE(hint("\0001\0,"sv).ends_with("iconv -f UTF-16BE -t UTF-8"));
  EXPECT_EQ(hint("1\0002,3\n"sv), "") << "a zero alone";
}

TEST(ForeignFile, RecordsAreKnownByAChecksum) {
  EXPECT_EQ(
      hint("\x0c\0\0\0\0\0\0\0\xf4\xc8\xfe\n"sv),
      "the file holds TFRecords: read it by the ops tfrecord_reader and decode_example: {fields: {features: {size: "
      "4}}}");
  EXPECT_EQ(hint("\x0d\0\0\0\0\0\0\0\xf4\xc8\xfe\n"sv), "");
  EXPECT_EQ(hint("\x0c\0\0\0\0\0\0\0\xf4\xc8\xfe"sv), "");
}

TEST(ForeignFile, TextsThatAreNoTable) {
  EXPECT_EQ(hint("<!DOCTYPE html>"), "the file is a web page: does its address lead to the data?");
  EXPECT_EQ(hint("{\"a\": 1}"), "the file holds JSON: write it as CSV first");
  EXPECT_EQ(hint("{\"a\": 1}"), hint("[{\"a\": 1}]"));
  EXPECT_EQ(hint("@relation iris"), "the file is in the ARFF format: remove its head: grep -v '^[@%]' FILE > data.csv");
  EXPECT_TRUE(hint("version https://git-lfs.github.com/spec/v1").ends_with("git lfs pull"));
}

// Only bytes that no table begins with are certain: the rest may be the name of a column.
TEST(ForeignFile, IsCertainOnlyOfWhatIsNoText) {
  for (const std::string_view start : {"\x1f\x8b"sv, "PK\x03\x04"sv, "\0\0\x08\x03\0"sv, "PAR1\x15"sv, "\xff\xfe"sv,
                                       "\x89PNG"sv, "BZh91AY&SY"sv, "\x0c\0\0\0\0\0\0\0\xf4\xc8\xfe\n"sv}) {
    EXPECT_TRUE(foreign_file(start)->certain) << start;
  }
  for (const std::string_view start : {"{\"a\": 1"sv, "<html"sv, "BZh9,b"sv, "@relation"sv}) {
    EXPECT_FALSE(foreign_file(start)->certain) << start;
  }
  for (const std::string_view start : {""sv, "PAR1,b\n"sv, "a,b\n1,2\n"sv, "\x1f"sv, "\0\0\x01"sv, "II,b"sv,
                                       "\xef\xbb\xbf"
                                       "1,2"sv}) {
    EXPECT_FALSE(foreign_file(start)) << start;
  }
}

}  // namespace
}  // namespace millrace
