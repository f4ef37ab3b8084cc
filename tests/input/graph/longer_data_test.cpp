// A saved state goes on with data that end later or earlier than when it was saved: as if they always had.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tests/input/graph_check.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::Lines;
using testing_support::MemoryFiles;

constexpr auto kDecode = "- decode_csv: {on_bad_row: skip, fields: {x: {columns: 0, type: int32}, y: {columns: 1}}}\n";
constexpr auto kBatch = "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n";
constexpr auto kShuffle = "- shuffle_batch: {batch_size: 2, min_after_dequeue: 3, allow_smaller_final_batch: true}\n";

class LongerData : public ::testing::Test {
 protected:
  LongerData() {
    add_counting_files(files_, 5, 4);
    for (const char* path : {"a.csv", "b.csv"}) files_.files[path] += "none,bad\n";
    RowBlock rows;
    rows.configure({{{"x", DType::i32, Shape{1}}}}, 7);
    rows.resize(7);
    for (int x = 0; x < 7; ++x) *rows.row<int32_t>(0, x) = x;
    ops_.add("memory", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
  }

  static std::string queue(const std::string& epochs, const std::string& files = "\"*.csv\"") {
    return cat("- filename_queue: {files: ", files, epochs.empty() ? "" : ", epochs: ", epochs, "}\n");
  }
  static std::string one_of_two(const std::string& name, int epochs) {
    return cat("- filename_queue: {name: ", name, "_names, files: ", name, ".csv, epochs: ", epochs,
               "}\n- csv_reader: {name: ", name, "_text}\n- decode_csv: {name: ", name,
               ", on_bad_row: skip, fields: {x: {columns: 0, type: int32}}}\n");
  }
  // Lists whose data come so many times.
  static std::vector<std::string> lists(int epochs) {
    const std::string times = cat(epochs), reader = "- csv_reader: {chunk_bytes: 9}\n";
    const std::string once = queue("1") + reader + kDecode, repeat = cat("- repeat: {epochs: ", epochs, "}\n");
    return {queue(times) + reader + kDecode + kBatch,
            queue(times) + reader + kDecode + kShuffle,
            queue(times) + "- csv_reader: {readers: 2}\n" + kDecode + kBatch,
            once + repeat + kShuffle,
            once + "- cache\n" + repeat + kBatch,
            one_of_two("a", epochs) + one_of_two("b", epochs) + "- interleave: {from: [a, b]}\n" + kBatch,
            cat("- memory: {epochs: ", epochs, "}\n", kShuffle)};
  }

  std::unique_ptr<Pipeline> pipeline(const std::string& list) {
    return std::make_unique<Pipeline>(
        InputGraph::build(parse_yaml(list, "input.yaml"), ops_, {.seed = 23, .files = &files_}), PipelineOptions{});
  }
  std::unique_ptr<Pipeline> restored(const std::string& list, const State& state) {
    auto out = pipeline(list);
    out->restore(State::decode(state.encode()));
    return out;
  }
  std::string refused(const std::string& list, const State& state) {
    return error_of<ConfigError>([&] { restored(list, state); });
  }
  // At most `most` batches: the pass and place of each row.
  static Lines batches(Pipeline& pipeline, int most = 1 << 20) {
    Lines out;
    RowBlock slot = pipeline.make_slot();
    for (; most > 0 && pipeline.next(slot) > 0; --most) {
      std::string rows;
      for (int64_t row = 0; row < slot.size(); ++row) {
        rows += cat(slot.id(row).pass, ' ', pipeline.place(slot.id(row)).text(), '\n');
      }
      out.push_back(rows);
    }
    return out;
  }
  State state_after(const std::string& list, int count) {
    const auto run = pipeline(list);
    batches(*run, count);
    return run->save();
  }
  // Whether a source has noticed its end.
  static bool has_ended(const State& state) {
    for (const char* source : {"csv_reader", "a_text", "b_text", "memory"}) {
      try {
        if (state.scope("ops").scope(source).value("ended") > 0) return true;
      } catch (const DataError&) {
        // There is no such op.
      }
    }
    return false;
  }

  MemoryFiles files_;
  OpRegistry ops_ = builtin_ops();
};

TEST_F(LongerData, AreReadAsIfTheyAlwaysHadBeenSo) {
  const std::vector<std::string> shorter = lists(2), longer = lists(4);
  for (size_t i = 0; i < shorter.size(); ++i) {
    SCOPED_TRACE(shorter[i]);
    const Lines all = batches(*pipeline(longer[i])), until_the_end = batches(*pipeline(shorter[i]));
    int tried = 0;
    for (int count = 0; count <= std::ssize(until_the_end); ++count) {
      const State state = state_after(shorter[i], count);
      if (has_ended(state)) continue;
      ++tried;
      const auto run = restored(longer[i], state);
      EXPECT_EQ(batches(*run), Lines(all.begin() + count, all.end())) << count;
    }
    EXPECT_GE(tried, 4);
  }
}

TEST_F(LongerData, GoOnAfterTheirEnd) {
  const std::vector<std::string> shorter = lists(2), longer = lists(4);
  for (size_t i = 0; i < shorter.size(); ++i) {
    SCOPED_TRACE(shorter[i]);
    const State end = state_after(shorter[i], 1 << 20);
    EXPECT_EQ(batches(*restored(shorter[i], end)), Lines());
    const auto straight = pipeline(longer[i]), run = restored(longer[i], end);
    std::map<std::string, int> rows, all;
    const auto add = [](const Lines& lines, std::map<std::string, int>& out) {
      for (const std::string& batch : lines) {
        for (size_t begin = 0; begin < batch.size(); begin = batch.find('\n', begin) + 1) {
          ++out[batch.substr(begin, batch.find('\n', begin) - begin)];
        }
      }
    };
    add(batches(*straight), all);
    add(batches(*run), rows);
    std::erase_if(all, [](const auto& row) { return row.first < "2"; });  // of the passes 0 and 1
    EXPECT_EQ(rows, all);
    EXPECT_EQ(run->summary().bad_rows, straight->summary().bad_rows) << "each is told once";
    EXPECT_EQ(run->summary().rows, straight->summary().rows);
  }
}

TEST_F(LongerData, ShorterDataEndEarlier) {
  const std::vector<std::string> shorter = lists(2), longer = lists(4);
  for (size_t i = 0; i < shorter.size(); ++i) {
    SCOPED_TRACE(shorter[i]);
    const Lines all = batches(*pipeline(shorter[i]));
    EXPECT_EQ(batches(*restored(shorter[i], state_after(longer[i], 1))), Lines(all.begin() + 1, all.end()));
    const std::string error = refused(shorter[i], state_after(longer[i], 1 << 20));
    EXPECT_NE(error.find(": the saved state is in epoch 4, but there would be only 2 epochs; allow at least 4"),
              std::string::npos)
        << error;
    EXPECT_TRUE(error.starts_with("input.yaml:")) << error;
  }
}

TEST_F(LongerData, MayEndOrNotEndAtAll) {
  const std::string rest = std::string("- csv_reader\n") + kDecode + kBatch;
  const std::string endless = queue("") + rest, finite = queue("3") + rest;
  const Lines all = batches(*pipeline(finite));
  EXPECT_EQ(batches(*restored(finite, state_after(endless, 2))), Lines(all.begin() + 2, all.end()));
  const Lines more = batches(*pipeline(endless), 30);
  EXPECT_EQ(batches(*restored(endless, state_after(finite, 2)), 28), Lines(more.begin() + 2, more.end()));
}

TEST_F(LongerData, NotInsideWhatIsRepeated) {
  for (const std::string cache : {"", "- cache\n"}) {
    SCOPED_TRACE(cache);
    const std::string rest = std::string("- csv_reader\n") + kDecode + cache + "- repeat: {epochs: 3}\n" + kBatch;
    const std::string two = queue("2") + rest, three = queue("3") + rest;
    const Lines all = batches(*pipeline(three));
    EXPECT_EQ(batches(*restored(three, state_after(two, 2))), Lines(all.begin() + 2, all.end())) << "in its first run";
    const std::string error = refused(three, state_after(two, 12));
    EXPECT_NE(error.find(": the saved state is in a further run of this data, and goes on only with 2 epochs, not with "
                         "3 epochs; change the epochs of the last repeat instead"),
              std::string::npos)
        << error;
  }
}

TEST_F(LongerData, FilesMayBeSpeltInAnotherWay) {
  const std::string rest = std::string("- csv_reader\n") + kDecode + kBatch;
  files_.files["./a.csv"] = files_.files["a.csv"];
  const State state = state_after(queue("2", "[a.csv, b.csv]") + rest, 2);
  const auto run = restored(queue("2", "[./a.csv, \"b*.csv\"]") + rest, state);
  const auto straight = restored(queue("2", "[a.csv, b.csv]") + rest, state);
  EXPECT_EQ(batches(*run).size(), batches(*straight).size());
  EXPECT_EQ(error_of<DataError>([&] { restored(queue("2", "a.csv") + rest, state); }),
            "b.csv: the file is gone: it was there when the state was saved");
}

}  // namespace
}  // namespace millrace
