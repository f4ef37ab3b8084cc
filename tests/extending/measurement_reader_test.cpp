// The op of examples/custom_input_op keeps what the graph promises of every source.
#include "examples/custom_input_op/measurement_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "millrace/core/threads/executor.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Two bytes and a float: a record of six.
constexpr auto kFields = "{pair: {type: uint8, values: 2}, number: {}}";

class MeasurementReaderTest : public ::testing::Test {
 protected:
  MeasurementReaderTest() {
    ops_.add<MeasurementReader>("measurement_reader");
    write("0.bin", 100);
    write("1.bin", 0);
    write("2.bin", 250);
  }

  void write(const std::string& name, int records) {
    std::string text = "head";
    for (int i = 0; i < records; ++i) {
      const auto number = static_cast<float>(i) / 4;
      text += static_cast<char>(i % 256);
      text += static_cast<char>(255);
      text.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    folder_.write(name, text);
  }

  InputGraph graph(const std::string& options) const {
    return InputGraph::build(parse_yaml(cat("[{filename_queue: {files: \"", folder_.path("*.bin"),
                                            "\", epochs: 2}}, {measurement_reader: {fields: ", kFields, ", ", options,
                                            "}}, {shuffle_batch: {batch_size: 9, capacity: 60, min_after_dequeue: 40, "
                                            "allow_smaller_final_batch: true}}]"),
                                        "c.yaml"),
                             ops_, {.seed = 5});
  }

  // The places and values of the next `batches`.
  static std::vector<std::string> read(Pipeline& pipeline, int batches = -1) {
    std::vector<std::string> out;
    RowBlock batch = pipeline.make_slot();
    for (int i = 0; i != batches && pipeline.next(batch) > 0; ++i) {
      for (int64_t row = 0; row < batch.size(); ++row) {
        const float *pair = batch.row<float>(0, row), *number = batch.row<float>(1, row);
        out.push_back(cat(pipeline.place(batch.id(row)).text(), ": ", pair[0], ' ', pair[1], ' ', *number));
      }
    }
    return out;
  }

  OpRegistry ops_ = builtin_ops();
  const TempFolder folder_;
};

TEST_F(MeasurementReaderTest, ReadsEveryRecordOnceAnEpoch) {
  Pipeline pipeline(graph("header_bytes: 4"), {});
  std::map<std::string, int> times;
  for (const std::string& row : read(pipeline)) ++times[row];
  EXPECT_EQ(times.size(), 350u);
  EXPECT_EQ(times[folder_.path("2.bin") + ":8: 7 255 1.75"], 2);
  for (const auto& [row, count] : times) EXPECT_EQ(count, 2) << row;
}

TEST_F(MeasurementReaderTest, ChunksThreadsAndSavingChangeNothing) {
  Pipeline whole(graph("header_bytes: 4"), {});
  const std::vector<std::string> rows = read(whole);
  Executor executor(3);
  for (const char* chunk_bytes : {"1", "13", "600"}) {
    const std::string options = cat("header_bytes: 4, chunk_bytes: ", chunk_bytes);
    Pipeline first(graph(options), {.executor = &executor});
    std::vector<std::string> got = read(first, 31);
    Pipeline second(graph("header_bytes: 4"), {});
    second.restore(first.save());
    for (std::string& row : read(second)) got.push_back(std::move(row));
    EXPECT_EQ(got, rows) << chunk_bytes;
  }
}

TEST_F(MeasurementReaderTest, NamesAFileThatDoesNotFit) {
  try {
    graph("header_bytes: 3");
    FAIL() << "a byte is left";
  } catch (const DataError& error) {
    EXPECT_EQ(
        error.message(),
        "expected a header of 3 bytes and records of 6 bytes, got a file of 604 bytes: 100 records and 1 of the 6 "
        "bytes of another");
    EXPECT_EQ(error.place().text(), cat(folder_.path("0.bin"), ":101"));
  }
}

}  // namespace
}  // namespace millrace
