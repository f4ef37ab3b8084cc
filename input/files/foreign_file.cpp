#include "millrace/input/files/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "millrace/core/crc32.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

using namespace std::string_view_literals;

// The first bytes of compressed files, the program that writes out what is in them, and the command that unpacks them.
struct Compression {
  std::string_view bytes, name, program, unpack;
  bool readable = false;
};

constexpr Compression kCompressions[] = {
    {"\x1f\x8b", "gzip", "zcat", "gzip -d", true},
    {"BZh", "bzip2", "bzcat", "bzip2 -d"},
    {"\xfd\x37zXZ", "xz", "xzcat", "xz -d"},
    {"\x28\xb5\x2f\xfd", "zstd", "zstdcat", "zstd -d", true},
};

// The first bytes of files that are something else.
struct Signature {
  std::string_view bytes, what, remedy;
  bool certain = true;
};

constexpr std::string_view kFromImages = "write images as CSV first, a line for each: its pixels and its label";
constexpr std::string_view kFromPictures =
    "image_folder reads pictures, and decode_image decodes them; docs/formats.md has an example";
constexpr std::string_view kFromMatlab = "write it as CSV first, with writematrix() or scipy.io.loadmat()";
constexpr std::string_view kFromPickle =
    "write it as CSV first: pandas.read_pickle(FILE).to_csv(\"data.csv\", index=False)";
constexpr std::string_view kFromWorkbook = "save a sheet of it as CSV first";
constexpr std::string_view kFromJson = "write it as CSV first";
constexpr std::string_view kFromUtf32 = "convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8";
constexpr std::string_view kFromUtf16 = "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8";
constexpr std::string_view kFromWeb = "does its address lead to the data?";
constexpr std::string_view kFromArff = "remove its head: grep -v '^[@%]' FILE > data.csv";

constexpr Signature kSignatures[] = {
    {"PAR1\x15", "is in the Parquet format",
     "read it by the op parquet_reader: {fields: {features: {columns: [..]}, label: {columns: ..}}}"},
    {"ARROW1\0\0"sv, "is in the Arrow format (Feather)",
     "write it as CSV first: pandas.read_feather(FILE).to_csv(\"data.csv\", index=False)"},
    {"Obj\x01", "is in the Avro format", "write it as CSV first"},
    {"\x89HDF", "is in the HDF5 format", "read it by the op hdf5_reader: {fields: {features: /x, label: /y}}"},
    {"\x93NUMPY", "is a NumPy array", "read it by the op npy_reader: {fields: {features: FILE}}"},
    {"\x80\x02", "is a Python pickle", kFromPickle},
    {"\x80\x03", "is a Python pickle", kFromPickle},
    {"\x80\x04", "is a Python pickle", kFromPickle},
    {"\x80\x05", "is a Python pickle", kFromPickle},
    {"MATLAB 5.0 MAT-file", "is a MATLAB file", kFromMatlab},
    {"\x89PNG", "is a PNG image", kFromPictures},
    {"\xff\xd8\xff", "is a JPEG image", kFromPictures},
    {"GIF89a", "is a GIF image", kFromImages},
    {"GIF87a", "is a GIF image", kFromImages},
    {"II*\0"sv, "is a TIFF image", kFromImages},
    {"MM\0*"sv, "is a TIFF image", kFromImages},
    {"\xd0\xcf\x11\xe0", "is a workbook (.xls)", kFromWorkbook},
    {"SQLite format 3\0"sv, "is an SQLite database", "write a table of it as CSV first"},
    {"%PDF-", "is a PDF document", "get the data in another form"},
    {"\xff\xfe\0\0"sv, "is UTF-32", kFromUtf32},
    {"\0\0\xfe\xff"sv, "is UTF-32", kFromUtf32},
    {"\xff\xfe", "is UTF-16", kFromUtf16},
    {"\xfe\xff", "is UTF-16", kFromUtf16},
    {"<!DOCTYPE", "is a web page", kFromWeb, false},
    {"<!doctype", "is a web page", kFromWeb, false},
    {"<html", "is a web page", kFromWeb, false},
    {"{\"", "holds JSON", kFromJson, false},
    {"[{", "holds JSON", kFromJson, false},
    {"@relation", "is in the ARFF format", kFromArff, false},
    {"@RELATION", "is in the ARFF format", kFromArff, false},
    {"version https://git-lfs", "only points to data that Git LFS keeps elsewhere", "fetch them first: git lfs pull",
     false},
};

ForeignFile compressed(const Compression& by, std::string_view start, bool from_pipe) {
  std::string remedy = cat("decompress it first: ", by.program, " FILE > data.csv");
  if (from_pipe) {
    remedy += cat("; or read standard input: ", by.program, " FILE | trainer .. with files: \"-\" or --data -");
  }
  return {.what = cat("is compressed by ", by.name),
          .remedy = std::move(remedy),
          .certain = by.name != "bzip2" || start.find("1AY&SY") == 4,
          .readable = by.readable,
          .unpack = cat("unpack it first: ", by.unpack, " FILE")};
}

// A zip archive begins with its first member, whose name tells what made the archive.
ForeignFile zipped(std::string_view start, bool from_pipe) {
  constexpr size_t kLengthAt = 26, kNameAt = 30;
  std::string_view name;
  if (start.size() > kNameAt) {
    name = start.substr(kNameAt, static_cast<unsigned char>(start[kLengthAt]));
  }
  if (name.ends_with(".npy")) {
    return {"is an archive of NumPy arrays (.npz)",
            "read it by the op npz_reader: {fields: {features: NAME}}, with the names of its arrays", true};
  }
  if (name == "[Content_Types].xml" || name.starts_with("_rels/") || name.starts_with("xl/") || name == "mimetype") {
    return {"is a workbook (.xlsx, .ods)", std::string(kFromWorkbook), true};
  }
  std::string remedy = "extract it first: unzip FILE";
  if (from_pipe) remedy += "; or, if there is one file in it: unzip -p FILE | trainer .. with files: \"-\" or --data -";
  return {"is a zip archive", std::move(remedy), true};
}

// A tar archive begins with the name of its first file, and has a mark after zeros.
bool is_tar(std::string_view start) {
  constexpr size_t kMarkAt = 257;
  return start.find('\0') < kMarkAt && start.find("ustar", kMarkAt) == kMarkAt;
}

// The IDX format begins with two zeros, the type of the values, the number of dimensions, and their sizes in four bytes
// each.
bool is_idx(std::string_view start) {
  return start.size() > 4 && start.starts_with("\0\0"sv) && "\x08\x09\x0b\x0c\x0d\x0e"sv.find(start[2]) != start.npos &&
         start[3] >= 1 && start[3] <= 8;
}

// A file of TFRecords begins with the length of the first, in eight bytes, and with its checksum.
bool is_tfrecord(std::string_view start) {
  constexpr size_t kLength = 8;
  if (start.size() < kLength + sizeof(uint32_t)) return false;
  uint32_t checksum = 0;
  std::memcpy(&checksum, start.data() + kLength, sizeof checksum);
  return checksum == masked_crc32c(start.substr(0, kLength));
}

// Whether every other byte is zero among the first few, the first one included.
bool every_other_is_zero(std::string_view text) {
  for (size_t i = 0; i < std::min<size_t>(text.size(), 6); ++i) {
    if ((text[i] == '\0') != (i % 2 == 0)) return false;
  }
  return true;
}

}  // namespace

std::optional<ForeignFile> foreign_file(std::string_view start, bool from_pipe) {
  for (const Compression& one : kCompressions) {
    if (start.starts_with(one.bytes)) return compressed(one, start, from_pipe);
  }
  if (start.starts_with("PK\x03\x04")) return zipped(start, from_pipe);
  if (is_tar(start)) return ForeignFile{"is a tar archive", "unpack it first: tar xf FILE", true};
  for (const Signature& one : kSignatures) {
    if (start.starts_with(one.bytes)) {
      return ForeignFile{std::string(one.what), std::string(one.remedy), one.certain};
    }
  }
  // A model file begins with a length in binary, then JSON.
  if (start.substr(0, 32).find("{\"__metadata__\"") == 8) {
    return ForeignFile{"is a model file", "trainer evaluate and trainer predict use it, by --model", true};
  }
  if (is_tfrecord(start)) {
    return ForeignFile{"holds TFRecords",
                       "read it by the ops tfrecord_reader and decode_example: {fields: {features: {size: 4}}}", true};
  }
  // The first page of an LMDB file has its mark after the header of all pages.
  if (start.substr(0, 20).ends_with("\xde\xc0\xef\xbe")) {
    return ForeignFile{"is an LMDB database",
                       "read it by the op lmdb_reader: {path: FOLDER, fields: {features: {type: .., size: ..}}}", true};
  }
  if (is_idx(start)) {
    return ForeignFile{"is in the IDX format, as MNIST is",
                       "read it by the op idx_reader: {fields: {features: IMAGES, label: LABELS}}", true};
  }
  if (const size_t zero = start.find('\0'); zero < 2 && every_other_is_zero(start.substr(zero))) {
    return ForeignFile{"has NUL bytes, as UTF-16 has",
                       cat("convert it to UTF-8 first: iconv -f UTF-16", zero == 0 ? "BE" : "LE", " -t UTF-8"), false};
  }
  return {};
}

}  // namespace millrace
