#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/input/compressed/compressing.h"
#include "tests/input/graph_check.h"
#include "tests/input/tfrecord/tfrecords.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::bytes_feature;
using testing_support::error_of;
using testing_support::example_of;
using testing_support::floats_feature;
using testing_support::GraphCheck;
using testing_support::integers_feature;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::record_of;
using testing_support::row_text;

class DecodeExampleTest : public ::testing::Test {
 protected:
  std::string list(const std::string& options, const std::string& batch = "batch_size: 1") const {
    return cat(
        "- filename_queue: {files: a.tfrecord, shuffle: false, epochs: 1}\n- tfrecord_reader: {chunk_bytes: "
        "40}\n- decode_example: {",
        options, "}\n- batch: {", batch, "}\n");
  }
  GraphCheck graph(const std::string& options) { return {files_, list(options)}; }
  std::string refused(const std::string& options) {
    return error_of([&] { graph(options).graph(); });
  }
  void put(const std::vector<std::string>& examples) {
    std::string& bytes = files_.files["a.tfrecord"];
    bytes.clear();
    for (const std::string& example : examples) bytes += record_of(example);
  }

  MemoryFiles files_;
};

TEST_F(DecodeExampleTest, GivesTheFieldsOfEveryType) {
  put({example_of({{"x", floats_feature({0.5F, -2})},
                   {"n", integers_feature({-7})},
                   {"pixels", bytes_feature({"\x01\x02\x03\x04"})},
                   {"words", bytes_feature({"a", "b"})},
                   {"ids", integers_feature({1, 2, 3})}})});
  const GraphCheck check = graph(
      "fields: {features: {size: 2, key: x}, n: {type: int32}, wide: {type: float64, key: n}, id: {type: int64, key: "
      "n}, pixels: {type: uint8, size: [1, 2, 2]}, words: {type: string, size: 2}, ids: {type: int64, split: ' '}, "
      "absent: {default: [3], size: 1}}");
  EXPECT_EQ(check.check(), (Lines{"a.tfrecord:1 features=0.5,-2 n=-7 wide=-7 id=-7 pixels=1,2,3,4 "
                                  "words=\"a\",\"b\" ids=1,2,3 absent=3"}));
  EXPECT_EQ(check.graph().output().rows.text(),
            "features: float32 (2), n: int32 (1), wide: float64 (1), id: int64 (1), pixels: uint8 (1, 2, 2), words: "
            "string (2), ids: int64 (ragged), absent: float32 (1)");
}

TEST_F(DecodeExampleTest, ABadRowIsAnErrorAtItsRecord) {
  put({example_of({{"n", integers_feature({1})}}), example_of({{"m", integers_feature({1})}})});
  EXPECT_EQ(graph("fields: {n: {type: int64}}").check(),
            (Lines{"a.tfrecord:1 n=1",
                   "error a.tfrecord:2: feature \"n\" (n): the record has no such feature; it has \"m\"; a default "
                   "stands for a feature that is missing"}));
}

TEST_F(DecodeExampleTest, BadRowsAreLeftOut) {
  put({example_of({{"n", integers_feature({1})}}), "no example", example_of({{"n", integers_feature({2})}}),
       example_of({{"n", floats_feature({2})}}), example_of({{"n", integers_feature({3})}})});
  std::string& bytes = files_.files["a.tfrecord"];
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  const TempFolder folder;
  const std::string options =
      cat("fields: {n: {type: int64}}, on_bad_row: skip, bad_rows_file: \"", folder.path("bad.jsonl"), "\"");
  EXPECT_EQ(graph(options).run(), (Lines{"a.tfrecord:1 n=1", "--", "a.tfrecord:3 n=2"}));
  EXPECT_EQ(TempFolder::read(folder.path("bad.jsonl")),
            "{\"v\":1,\"file\":\"a.tfrecord\",\"line\":2,\"column\":null,\"field\":null,\"text\":null,\"reason\":\"the "
            "bytes are no tf.Example\"}\n"
            "{\"v\":1,\"file\":\"a.tfrecord\",\"line\":4,\"column\":null,\"field\":null,\"text\":null,\"reason\":"
            "\"feature \\\"n\\\" (n): expected int64, got floats\"}\n"
            "{\"v\":1,\"file\":\"a.tfrecord\",\"line\":5,\"column\":null,\"field\":null,\"text\":null,\"reason\":\"the "
            "checksum of the record is wrong\"}\n");
  EXPECT_EQ(graph("fields: {n: {type: int64}}, on_bad_row: skip").check(),
            (Lines{"a.tfrecord:1 n=1", "--", "a.tfrecord:3 n=2"}));
  EXPECT_THAT(graph("fields: {n: {type: int64}}, on_bad_row: skip, max_bad_rows: 1").check().back(),
              HasSubstr("a.tfrecord:4: "));
}

// Nobody knows where the next record begins.
TEST_F(DecodeExampleTest, ADamagedLengthEndsTheFileWhateverIsSaidOfBadRows) {
  put({example_of({{"n", integers_feature({1})}}), example_of({{"n", integers_feature({2})}})});
  std::string& bytes = files_.files["a.tfrecord"];
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  EXPECT_EQ(graph("fields: {n: {type: int64}}, on_bad_row: skip").check().back(),
            "error a.tfrecord:2: the checksum of the record's length is wrong; is the file damaged?");
}

TEST_F(DecodeExampleTest, BadRowsMayStay) {
  put({example_of({{"n", integers_feature({1})}, {"w", bytes_feature({"a"})}}), "no example",
       example_of({{"n", integers_feature({2})}}),
       example_of({{"n", integers_feature({3})}, {"w", bytes_feature({"b"})}})});
  Pipeline pipeline(InputGraph::build(parse_yaml(list("fields: {n: {type: int64}, w: {type: string}}", "batch_size: 4"),
                                                 "input.yaml"),
                                      builtin_ops(), {.files = &files_, .bad_rows_stay = true}),
                    {});
  RowBlock rows = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(rows), 4);
  const char* const expected[] = {"n=1 w=\"a\" (error)=\"\"", "n=0 w= (error)=\"the bytes are no tf.Example\"",
                                  "n=0 w= (error)=\"feature \\\"w\\\" (w): the record has no such feature\"",
                                  "n=3 w=\"b\" (error)=\"\""};
  for (int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(row_text(rows, row), expected[row]);
    EXPECT_EQ(pipeline.place(rows.id(row)).text(), cat("a.tfrecord:", row + 1));
  }
}

TEST_F(DecodeExampleTest, RefusesOptionsThatMakeNoSense) {
  put({example_of({})});
  EXPECT_THAT(refused("fields: {}"), HasSubstr("expected at least one field"));
  EXPECT_THAT(refused("fields: {x: {type: int16}}"), HasSubstr("fields.x.type"));
  EXPECT_THAT(refused("fields: {x: {size: []}}"), HasSubstr("expected 1 to 5 numbers, got 0"));
  EXPECT_THAT(refused("fields: {x: {size: [1, 1, 1, 1, 1, 1]}}"), HasSubstr("expected 1 to 5 numbers, got 6"));
  EXPECT_THAT(refused("fields: {x: {size: 0}}"), HasSubstr("expected at least 1"));
  EXPECT_THAT(refused("fields: {x: {size: [65536, 65536]}}"), HasSubstr("at most"));
  EXPECT_THAT(refused("fields: {x: {type: string, size: [1, 2]}}"), HasSubstr("expected 1 number for texts, got 2"));
  EXPECT_THAT(refused("fields: {x: {split: ab}}"), HasSubstr("expected one byte other than a line end, got \"ab\""));
  EXPECT_THAT(refused("fields: {x: {split: ' ', size: 2}}"), HasSubstr("leave split or size out"));
  EXPECT_THAT(refused("fields: {x: {type: int32, default: a}}"), HasSubstr("expected a default of type int32"));
  EXPECT_THAT(refused("fields: {x: {size: 3, default: [1, 2]}}"), HasSubstr("got 2"));
}

TEST_F(DecodeExampleTest, ReadsOnlyWhatTfRecordReaderGives) {
  files_.files["a.csv"] = "1,2\n";
  const auto error = [&](const std::string& reader, const std::string& decoder) {
    return error_of([&] {
      GraphCheck(files_, cat("- filename_queue: {files: \"a.*\", epochs: 1}\n- ", reader, "\n- ", decoder,
                             "\n- batch: {batch_size: 1}\n"))
          .graph();
    });
  };
  EXPECT_THAT(error("csv_reader", "decode_example: {fields: {x: {}}}"),
              HasSubstr("decode_example expects TFRecord text, got CSV text; put tfrecord_reader before it"));
  files_.files.clear();
  files_.files["a.tfrecord"] = record_of("");
  EXPECT_THAT(error("tfrecord_reader", "decode_csv: {fields: {x: {columns: 0}}}"),
              HasSubstr("decode_csv expects CSV text, got TFRecord text"));
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    out += cat(std::string_view("0123456789abcdef")[static_cast<unsigned char>(byte) >> 4],
               std::string_view("0123456789abcdef")[byte & 15]);
  return out;
}

// scripts/make-format-fixtures made these files with TensorFlow; values.txt has the bits that its parser reads.
class TensorFlowFixtures : public DecodeExampleTest {
 protected:
  static std::string file(const std::string& name) {
    return TempFolder::read(test::source_dir() + "/tests/data/formats/tfrecord/" + name);
  }
  // "x=0000803f .. y=..", for each row, as in values.txt.
  std::string values() {
    Pipeline pipeline(
        InputGraph::build(parse_yaml(list("fields: {x: {size: 4}, y: {type: int64, size: 2}, name: {type: string}, "
                                          "pixels: {type: uint8, size: [2, 3]}, ids: {type: int64, split: ' '}, words: "
                                          "{type: string, split: ' ', default: []}, weight: {default: -1}}"),
                                     "input.yaml"),
                          builtin_ops(), {.files = &files_}),
        {});
    RowBlock rows = pipeline.make_slot();
    std::string out;
    while (pipeline.next(rows) > 0) {
      for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
        const FieldSpec& field = rows.spec().fields[i];
        std::string bytes;
        if (field.text) {
          const Varying& texts = std::as_const(rows).varying(i, 0);
          for (size_t t = 0; t < texts.texts(); ++t) {
            if (field.ragged()) bytes += static_cast<char>(texts.text(t).size());
            bytes += texts.text(t);
          }
        } else if (field.ragged()) {
          std::as_const(rows).varying(i, 0).visit_bytes([&](std::string_view some) { bytes += some; });
        } else {
          bytes.assign(reinterpret_cast<const char*>(rows.at(i, 0)), field.tensor().bytes());
        }
        out += cat(i > 0 ? " " : "", field.name, '=', hex(bytes));
      }
      out += '\n';
    }
    return out;
  }
};

TEST_F(TensorFlowFixtures, HaveTheBitsThatTensorFlowReads) {
  files_.files["a.tfrecord"] = file("rows.tfrecord");
  const std::string expected = file("values.txt");
  ASSERT_EQ(std::ranges::count(expected, '\n'), 40);
  EXPECT_EQ(values(), expected);
#ifdef MILLRACE_TESTS_COMPRESSED
  files_.files["a.tfrecord"] = file("rows.tfrecord.gz");
  EXPECT_EQ(values(), expected);
#endif
}

TEST_F(TensorFlowFixtures, OneBeginsInTheMiddleOfRecordsInsideOfRecords) {
  files_.files["a.tfrecord"] = file("nested.tfrecord");
  EXPECT_EQ(graph("fields: {x: {}}").check(),
            (Lines{"a.tfrecord:1 x=0", "--", "a.tfrecord:2 x=1", "--", "a.tfrecord:3 x=2", "--", "a.tfrecord:4 x=3",
                   "--", "a.tfrecord:5 x=4"}));
}

}  // namespace
}  // namespace millrace
