// The same rows as files of every format that this build reads, for tests that all formats mean the same. A row is an
// image of four numbers and the number of its class; the rows of class 0 come first. They lie in two files, a and b, or
// in a picture each, or in one database.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/core/crc32.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/arrays/array_bytes.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/hdf5/hdf5_bytes.h"
#include "tests/input/lmdb/lmdb_bytes.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"
#include "tests/input/pictures/pictures.h"
#include "tests/input/tfrecord/tfrecords.h"
#include "tests/support/temp_folder.h"

namespace millrace::testing_support {

inline constexpr int kFormatRows = 45, kRowsOfA = 30, kRowsOfClass0 = 25;

class FormatRows {
 public:
  // The image is uint8 with `small`, otherwise float32.
  explicit FormatRows(bool small) : bytes_(small) {
    for (int row = 0; row < kFormatRows; ++row) {
      for (uint64_t i = 0; i < 4; ++i) {
        const auto draw = static_cast<float>(philox64(11, static_cast<uint64_t>(row), i) % 256);
        image_.push_back(small ? draw : (draw - 100) / 7);
      }
      label_.push_back(row < kRowsOfClass0 ? 0 : 1);
    }
    if (small) return;
    image_[1] = -0.0F;
    image_[6] = 1e-42F;
  }

  bool bytes() const { return bytes_; }
  std::string type() const { return bytes_ ? "uint8" : "float32"; }
  int32_t label(int row) const { return label_[static_cast<size_t>(row)]; }
  // Value i of all images.
  float image(int i) const { return image_[static_cast<size_t>(i)]; }
  std::vector<uint8_t> pixels(int begin, int end) const {
    std::vector<uint8_t> out;
    for (int i = 4 * begin; i < 4 * end; ++i) out.push_back(static_cast<uint8_t>(image_[static_cast<size_t>(i)]));
    return out;
  }
  // As row_text() has it.
  std::string text(int row) const { return cat("image=", numbers(row), " label=", label(row)); }
  std::string csv(int begin, int end) const {
    std::string out = "image_0,image_1,image_2,image_3,label\n";
    for (int row = begin; row < end; ++row) out += cat(numbers(row), ',', label(row), '\n');
    return out;
  }
  std::string image_bytes(int begin, int end, bool big = false) const {
    if (bytes_) return bytes_of_numbers(pixels(begin, end));
    return bytes_of_numbers(std::vector<float>(image_.begin() + 4 * begin, image_.begin() + 4 * end), big);
  }
  std::string label_bytes(int begin, int end, bool big = false) const {
    return bytes_of_numbers(std::vector<int32_t>(label_.begin() + begin, label_.begin() + end), big);
  }

 private:
  std::string numbers(int row) const {
    const float* const four = &image_[4 * static_cast<size_t>(row)];
    return cat(four[0], ',', four[1], ',', four[2], ',', four[3]);
  }

  bool bytes_;
  std::vector<float> image_;
  std::vector<int32_t> label_;
};

struct Format {
  std::string name = {};  // the folder of its files, too
  // In these two '@' stands for the folder. In `ops` '#' begins the name of each op, and '$' stands for the options of
  // the one that names the files.
  std::string ops = {};
  std::vector<std::string> data = {};  // what --data names
  std::string last = "rows";           // the name of the op that gives rows
  std::map<std::string, std::string> files = {};
  std::vector<std::string> places = {};  // of the rows

  bool is_text() const { return ops.find("csv_reader") != ops.npos; }
  bool is_pictures() const { return ops.find("image_folder") != ops.npos; }
  // Whether `shuffle` and `shard` are of the two files.
  bool orders_files() const { return !is_pictures() && name != "lmdb"; }

  // `options` of the op that names the files; `prefix` of the names of all ops; `folder` is empty or ends in a slash.
  std::string list(const std::string& options, const std::string& prefix = {}, const std::string& folder = {}) const {
    return filled(filled(filled(ops, '#', prefix), '$', options), '@', cat(folder, name, '/'));
  }
  // With `labels` also the files that hold nothing else.
  std::vector<std::string> data_files(bool labels) const {
    std::vector<std::string> out;
    for (const std::string& one : data) {
      if (labels || !one.starts_with("label=")) out.push_back(filled(one, '@', name + '/'));
    }
    return out;
  }
  void put(MemoryFiles& into) const {
    for (const auto& [path, bytes] : files) {
      into.files[path] = bytes;
      for (size_t at = 0; (at = path.find('/', at + 1)) != path.npos;) into.folders.insert(path.substr(0, at));
    }
  }
  void put(const TempFolder& into) const {
    for (const auto& [path, bytes] : files) {
      std::filesystem::create_directories(std::filesystem::path(into.path(path)).parent_path());
      into.write(path, bytes);
    }
  }

 private:
  static std::string filled(std::string text, char mark, const std::string& with) {
    for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += with.size()) text.replace(at, 1, with);
    return text;
  }
};

class FormatTable {
 public:
  explicit FormatTable(const FormatRows& rows) : rows_(rows) {
    add_text("csv", ".csv", [](std::string_view text) { return std::string(text); });
    add_arrays("npy", "npy_reader", ".npy",
               [&](int begin, int end) { return std::pair(npy_image(begin, end), npy_label(begin, end)); });
    add_npz("npz", [](const std::string& name, const std::string& array) { return ZipPart{name, array}; });
    const auto idx = [&](int begin, int end) {
      const auto count = static_cast<uint64_t>(end - begin);
      return std::pair(idx_array(rows_.bytes() ? 0x08 : 0x0d, {count, 1, 2, 2}, rows_.image_bytes(begin, end, true)),
                       idx_array(0x0c, {count}, rows_.label_bytes(begin, end, true)));
    };
    add_arrays("idx", "idx_reader", ".idx", idx);
    add_records();
    add_tfrecords("tfrecord", ".tfrecord", [](const std::string& file) { return file; });
#ifdef MILLRACE_TESTS_COMPRESSED
    const auto gzip = [](std::string_view text) { return gzip_of(text); };
    const auto zstd = [](std::string_view text) { return zstd_of(text); };
    // Cut in the middle of a line.
    const auto halves = [](const auto& compress) {
      return [compress](std::string_view text) {
        return compress(text.substr(0, text.size() / 2)) + compress(text.substr(text.size() / 2));
      };
    };
    add_text("gzip", ".csv.gz", gzip);
    add_text("members", ".csv.gz", halves(gzip));
    add_text("bgzf", ".csv.gz", [](std::string_view text) { return bgzf_of(text, 200); });
    add_text("zstd", ".csv.zst", zstd);
    add_text("frames", ".csv.zst", halves(zstd));
    add_tfrecords("tfrecord-gzip", ".tfrecord.gz", gzip);
    add_npz("npz-deflated", [](const std::string& name, const std::string& array) {
      return ZipPart{.name = name, .bytes = deflated(array), .method = 8, .size = array.size(), .crc = crc32_of(array)};
    });
    add_arrays("idx-gzip", "idx_reader", ".idx.gz", [idx](int begin, int end) {
      const auto [image, label] = idx(begin, end);
      return std::pair(gzip_of(image), gzip_of(label));
    });
#endif
    add_parquet("parquet", false);
    add_parquet("parquet-lists", true);
    if (rows_.bytes()) add_pictures();
    add_lmdb();
    add_hdf5();
  }

  // Plain CSV comes first.
  std::vector<Format> formats;
  std::vector<std::string> absent;  // ops whose library is not there

 private:
  struct Part {
    const char* name;
    int begin, end;
  };
  static constexpr Part kParts[] = {{"a", 0, kRowsOfA}, {"b", kRowsOfA, kFormatRows}};

  // The first row of a file is in line `line`.
  static void add_places(Format& format, const std::string& ending, int line) {
    for (const Part& part : kParts) {
      for (int row = part.begin; row < part.end; ++row) {
        format.places.push_back(cat(format.name, '/', part.name, ending, ':', row - part.begin + line));
      }
    }
  }

  void add_queued(const std::string& name, const std::string& ending, int line, const std::string& ops,
                  const std::function<std::string(int, int)>& bytes) {
    Format& format = formats.emplace_back(Format{.name = name});
    format.ops = cat("- filename_queue: {name: #files, files: ['@a", ending, "', '@b", ending, "'], $}\n", ops);
    format.data = {cat("@a", ending), cat("@b", ending)};
    for (const Part& part : kParts) format.files[cat(name, '/', part.name, ending)] = bytes(part.begin, part.end);
    add_places(format, ending, line);
  }

  void add_text(const std::string& name, const std::string& ending,
                const std::function<std::string(std::string_view)>& compress) {
    add_queued(
        name, ending, 2,
        cat("- csv_reader: {name: #reader, header: true, chunk_bytes: 100}\n- decode_csv: {name: #rows, fields: ",
            "{image: {columns: 0-3, type: ", rows_.type(),
            ", reshape: [1, 2, 2]}, label: {columns: 4, type: int32}}}\n"),
        [&](int begin, int end) { return compress(rows_.csv(begin, end)); });
  }

  void add_npz(const std::string& name, const std::function<ZipPart(const std::string&, const std::string&)>& part) {
    add_queued(name, ".npz", 1, "- npz_reader: {name: #rows, chunk_bytes: 64, fields: {image: x, label: y}}\n",
               [&](int begin, int end) {
                 return zip_file({part("x.npy", npy_image(begin, end)), part("y.npy", npy_label(begin, end))});
               });
  }

  void add_records() {
    add_queued("records", ".bin", 1,
               cat("- record_reader: {name: #rows, chunk_bytes: 64, bytes: ", rows_.bytes() ? 8 : 20,
                   ", fields: {image: {type: ", rows_.type(), ", size: [1, 2, 2]}, label: {type: int32}}}\n"),
               [&](int begin, int end) {
                 std::string out;
                 for (int row = begin; row < end; ++row) {
                   out += rows_.image_bytes(row, row + 1) + rows_.label_bytes(row, row + 1);
                 }
                 return out;
               });
  }

  void add_tfrecords(const std::string& name, const std::string& ending,
                     const std::function<std::string(const std::string&)>& compress) {
    if (!has_op("decode_example")) return;
    add_queued(name, ending, 1,
               cat("- tfrecord_reader: {name: #reader, chunk_bytes: 100}\n- decode_example: {name: #rows, fields: ",
                   "{image: {type: ", rows_.type(), ", size: [1, 2, 2], key: x}, label: {type: int32, key: y}}}\n"),
               [&](int begin, int end) {
                 std::string out;
                 for (int row = begin; row < end; ++row) {
                   const std::string image = rows_.image_bytes(row, row + 1);
                   const std::string x = rows_.bytes() ? bytes_feature({image}) : wire_field(2, wire_field(1, image));
                   out += record_of(example_of({{"y", integers_feature({rows_.label(row)})}, {"x", x}}));
                 }
                 return compress(out);
               });
  }

  static bool has_op(std::string_view kind) {
    const auto ops = builtin_ops();
    return std::ranges::any_of(ops.entries(), [&](const auto& op) { return op.first == kind; });
  }

  // `arrays`: the files of the image and of the label.
  void add_arrays(const std::string& name, const std::string& kind, const std::string& ending,
                  const std::function<std::pair<std::string, std::string>(int, int)>& arrays) {
    Format& format = formats.emplace_back(Format{.name = name, .last = "files"});
    format.ops = cat("- ", kind, ": {name: #files, chunk_bytes: 64, fields: {image: ['@ax", ending, "', '@bx", ending,
                     "'], label: ['@ay", ending, "', '@by", ending, "']}, $}\n");
    for (const Part& part : kParts) {
      const std::string x = cat(part.name, 'x', ending), y = cat(part.name, 'y', ending);
      format.data.push_back(cat("image=@", x));
      format.data.push_back(cat("label=@", y));
      std::tie(format.files[cat(name, '/', x)], format.files[cat(name, '/', y)]) = arrays(part.begin, part.end);
    }
    add_places(format, cat('x', ending), 1);
  }

  // Row groups of 8 rows, pages of 3 values. The image is a column for each value, or a column of lists.
  void add_parquet(const std::string& name, bool lists) {
    add_queued(
        name, ".parquet", 1,
        cat("- parquet_reader: {name: #rows, chunk_bytes: 640, fields: {image: {columns: ", lists ? "v" : "0-3",
            ", type: ", rows_.type(), ", reshape: [1, 2, 2]}, label: {columns: label, type: int32}}}\n"),
        [&](int begin, int end) { return lists ? parquet_of_lists(begin, end) : parquet_of_columns(begin, end); });
    Format& format = formats.back();
    format.places.clear();
    for (const Part& part : kParts) {
      for (int row = 0; row < part.end - part.begin; ++row) {
        format.places.push_back(
            cat(name, '/', part.name, ".parquet:", row / kGroupRows + 1, '/', row % kGroupRows + 1));
      }
    }
    if (!can_read(format)) formats.pop_back();
  }

  static constexpr int kGroupRows = 8;

  // Calls group(begin, end) for the rows of each row group.
  template <class Group>
  static void for_groups(int begin, int end, const Group& group) {
    for (int at = begin; at < end; at += kGroupRows) group(at, std::min(at + kGroupRows, end));
  }

  std::string parquet_of_columns(int begin, int end) const {
    FileParts file;
    for (int i = 0; i < 4; ++i) file.schema.push_back({.name = cat("c", i), .type = kFloat});
    file.schema.push_back({.name = "label", .type = kInt32});
    for_groups(begin, end, [&](int first, int last) {
      GroupParts& group = file.groups.emplace_back(GroupParts{.rows = last - first});
      for (int i = 0; i < 4; ++i) group.chunks.push_back(plain_chunk(kFloat, values(i, 4, first, last), 3));
      group.chunks.push_back(label_chunk(first, last));
    });
    return file.bytes();
  }
  std::string parquet_of_lists(int begin, int end) const {
    FileParts file{.schema = {{.name = "label", .type = kInt32}, {.name = "v", .type = kFloat, .repetition = 2}}};
    for_groups(begin, end, [&](int first, int last) {
      ChunkParts lists{.type = kFloat, .values = 4 * (last - first)};
      // A page ends within a list.
      const std::vector<float> all = values(0, 1, 4 * first, 4 * last);
      for (size_t at = 0; at < all.size(); at += 6) {
        const size_t some = std::min<size_t>(6, all.size() - at);
        std::vector<uint64_t> repetition;
        for (size_t i = at; i < at + some; ++i) repetition.push_back(i % 4 == 0 ? 0 : 1);
        const auto from = all.begin() + static_cast<ptrdiff_t>(at);
        lists.pages +=
            data_page({.entries = static_cast<int64_t>(some),
                       .body = sized(packed_run(repetition, 1)) + sized(repeated_run(some, 1, 1)) +
                               bytes_of_numbers(std::vector<float>(from, from + static_cast<ptrdiff_t>(some)))});
      }
      file.groups.push_back({.rows = last - first, .chunks = {label_chunk(first, last), lists}});
    });
    return file.bytes();
  }
  // Every `step`-th value of the images, from `first` on, for [begin, end).
  std::vector<float> values(int first, int step, int begin, int end) const {
    std::vector<float> out;
    for (int i = begin; i < end; ++i) out.push_back(rows_.image(step * i + first));
    return out;
  }
  ChunkParts label_chunk(int begin, int end) const {
    std::vector<int32_t> labels;
    for (int row = begin; row < end; ++row) labels.push_back(rows_.label(row));
    return plain_chunk(kInt32, labels);
  }

  void add_pictures() {
#ifdef MILLRACE_HAS_PNG
    if (!has_op("image_folder")) return;
    Format& format = formats.emplace_back(Format{.name = "pictures", .data = {"@"}});
    format.ops = "- image_folder: {name: #files, dir: '@', $}\n- decode_image: {name: #rows, size: [1, 2, 2]}\n";
    for (int row = 0; row < kFormatRows; ++row) {
      format.places.push_back(cat("pictures/", rows_.label(row) == 0 ? "bright/" : "dark/", row + 10, ".png"));
      format.files[format.places.back()] = png_of({2, 2, 1, rows_.pixels(row, row + 1)});
    }
#endif
  }

  void add_lmdb() {
    Format& format = formats.emplace_back(Format{.name = "lmdb", .data = {"@"}, .last = "files"});
    format.ops =
        cat("- lmdb_reader: {name: #files, path: '@', chunk_bytes: 64, fields: {image: {db: x, type: ", rows_.type(),
            ", size: [1, 2, 2]}, label: {db: y, type: int32}}, $}\n");
    LmdbContent x{.name = "x"}, y{.name = "y"};
    for (int row = 0; row < kFormatRows; ++row) {
      const std::string key = cat("row", 100 + row);
      x.records.emplace_back(key, rows_.image_bytes(row, row + 1));
      y.records.emplace_back(key, rows_.label_bytes(row, row + 1));
      format.places.push_back(cat("lmdb/data.mdb:", key));
    }
    format.files["lmdb/data.mdb"] = lmdb_file({x, y}, 256);
    if (!can_read(format)) formats.pop_back();
  }

  void add_hdf5() {
    add_queued("hdf5", ".h5", 1, "- hdf5_reader: {name: #rows, chunk_bytes: 64, fields: {image: /x, label: /y}}\n",
               [&](int begin, int end) {
                 const auto rows = static_cast<uint64_t>(end - begin);
                 const std::string type = rows_.bytes() ? hdf5_integer(1, false) : hdf5_float(4, 8);
                 return hdf5_file({{"x", type, {rows, 1, 2, 2}, rows_.image_bytes(begin, end)},
                                   {"y", hdf5_integer(4), {rows}, rows_.label_bytes(begin, end)}});
               });
    if (can_read(formats.back())) return;
    formats.pop_back();
    absent.emplace_back("hdf5_reader");
  }

  // A build or a machine may be without what reads it.
  static bool can_read(const Format& format) {
    MemoryFiles files;
    format.put(files);
    try {
      const Spec list = parse_yaml(format.list("epochs: 1") + "- batch: {batch_size: 1}\n", "list");
      InputGraph::build(list, builtin_ops(), {.files = &files});
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  }

  std::string npy_image(int begin, int end) const {
    return npy_array(rows_.bytes() ? "|u1" : "<f4", cat("(", end - begin, ", 1, 2, 2)"), rows_.image_bytes(begin, end));
  }
  std::string npy_label(int begin, int end) const {
    return npy_array("<i4", cat("(", end - begin, ",)"), rows_.label_bytes(begin, end));
  }

  const FormatRows rows_;
};

// A training of a few steps on these rows.
inline std::string training_on(const Format& format, const std::string& folder = {}) {
  return cat("seed: 5\ndevice: cpu\nthreads: 2\ninput:\n", format.list("shuffle: false, epochs: 2", {}, folder),
             "- hold_out: {group: image, share: 0.4}\n- normalize: {fields: image, mean: 0.5, std: 2}\n",
             "- shuffle_batch: {batch_size: 9, min_after_dequeue: 12, threads: 2}\n",
             "model:\n- flatten: {from: image}\n- dense: {units: 6, activation: relu}\n- dense: {units: 2}\n",
             "loss: softmax_cross_entropy\nmetrics: [accuracy]\noptimizer: {adam: {learning_rate: 0.01}}\n",
             "validation: {held_out: true, every: 2}\n");
}

}  // namespace millrace::testing_support
