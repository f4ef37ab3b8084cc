// One meaning: the same values give the same batches, places, sides and states, whatever format they are in. Weights
// and answers: tests/cli/formats_test.cpp.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/formats.h"
#include "tests/input/graph_check.h"

namespace millrace::testing {
namespace {

using testing_support::Format;
using testing_support::FormatRows;
using testing_support::FormatTable;
using testing_support::GraphCheck;
using testing_support::kFormatRows;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::row_text;

// The parameter says whether the values are uint8.
class FormatsTest : public ::testing::TestWithParam<bool> {
 protected:
  FormatsTest() {
    for (const Format& format : formats_) {
      format.put(files_);
      EXPECT_EQ(format.places.size(), static_cast<size_t>(kFormatRows));
      for (int row = 0; row < kFormatRows; ++row) text_at_[format.places[static_cast<size_t>(row)]] = rows_.text(row);
    }
  }

  // What `of` gives for each format must be equal; returns it.
  template <class Of>
  auto expect_equal(const Of& of) {
    const auto expected = of(formats_.front());
    for (const Format& format : formats_) {
      SCOPED_TRACE(format.name);
      EXPECT_EQ(of(format), expected);
    }
    return expected;
  }

  // Lines of a GraphCheck without the places, which must be the right ones.
  Lines values(const Lines& lines) const {
    Lines out;
    for (const std::string& line : lines) {
      const size_t blank = line.find(' ');
      out.push_back(blank == line.npos ? line : line.substr(blank + 1));
      if (line == "--") continue;
      const auto expected = text_at_.find(line.substr(0, blank));
      EXPECT_TRUE(expected != text_at_.end() && expected->second == out.back()) << line;
    }
    return out;
  }
  GraphCheck graph(const std::string& list) { return {files_, list}; }

  const FormatRows rows_{GetParam()};
  const std::vector<Format> formats_ = FormatTable(rows_).formats;
  std::map<std::string, std::string> text_at_;  // by place
  MemoryFiles files_;
};

INSTANTIATE_TEST_SUITE_P(OfValues, FormatsTest, ::testing::Values(false, true),
                         [](const auto& bytes) { return bytes.param ? "uint8" : "float32"; });

TEST_P(FormatsTest, GiveTheSameBatchesForAllThreadsAndFromEveryState) {
  const Lines batches = expect_equal([&](const Format& format) {
    return values(
        graph(format.list("shuffle: false, epochs: 2") + "- shuffle_batch: {batch_size: 18, min_after_dequeue: 23}\n")
            .check());
  });
  EXPECT_EQ(batches.size(), 2u * kFormatRows + 4) << "5 batches";
  EXPECT_NE(Lines(batches.begin(), batches.begin() + 3), (Lines{rows_.text(0), rows_.text(1), rows_.text(2)}));
}

// A picture is a file, and a database orders its rows, so there are more to order.
TEST_P(FormatsTest, OrderAndShareTheirFilesAlike) {
  const std::string batch = "- batch: {batch_size: 15, allow_smaller_final_batch: true}\n";
  const auto rows = [&](const Format& format, const std::string& options) {
    return values(graph(format.list(options) + batch).run());
  };
  for (const std::string options : {"epochs: 8", "epochs: 5, shard: {index: 1, count: 2}"}) {
    expect_equal(
        [&](const Format& format) { return rows(format.orders_files() ? format : formats_.front(), options); });
  }
  EXPECT_NE(rows(formats_.front(), "epochs: 8"), rows(formats_.front(), "shuffle: false, epochs: 8"));
}

TEST_P(FormatsTest, HoldOutTheSameRowsByAField) {
  const auto side = [&](const Format& format, Side wanted) {
    const std::string list =
        format.list("shuffle: false, epochs: 1") + "- hold_out: {group: image, share: 0.4}\n- batch: {batch_size: 1}\n";
    Pipeline pipeline(InputGraph::build(parse_yaml(list, "i.yaml"), builtin_ops(), {.files = &files_, .side = wanted}),
                      {});
    RowBlock slot = pipeline.make_slot();
    Lines out;
    while (pipeline.next(slot) > 0) out.push_back(row_text(slot, 0));
    return out;
  };
  const auto [trained, held] = expect_equal(
      [&](const Format& format) { return std::pair(side(format, Side::trained), side(format, Side::held_out)); });
  EXPECT_EQ(trained.size() + held.size(), static_cast<size_t>(kFormatRows));
  EXPECT_GT(held.size(), 8u);
  EXPECT_GT(trained.size(), 16u);
}

TEST_P(FormatsTest, AreJoinedWithEachOther) {
  const std::string once = "shuffle: false, epochs: 1";
  for (const std::string join : {"mix: {weights: [1, 3], stop: all, ", "interleave: {"}) {
    const auto joined = [&](const Format& one, const Format& other) {
      return values(graph(cat(one.list(once, "p_"), other.list(once, "q_"), "- ", join, "from: [p_", one.last, ", q_",
                              other.last, "]}\n- batch: {batch_size: 30}\n"))
                        .check());
    };
    const Lines expected = joined(formats_.front(), formats_.front());
    EXPECT_EQ(expected.size(), 2u * kFormatRows + 2);
    for (size_t i = 0; i < formats_.size(); ++i) {
      const Format &one = formats_[i], &other = formats_[(i + 1) % formats_.size()];
      EXPECT_EQ(joined(one, other), expected) << join << one.name << ' ' << other.name;
    }
  }
}

}  // namespace
}  // namespace millrace::testing
