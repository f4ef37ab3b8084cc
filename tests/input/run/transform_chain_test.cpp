#include "millrace/input/run/transform_chain.h"

#include <gtest/gtest.h>

#include "tests/input/graph/fake_ops.h"

namespace millrace {
namespace {

using fake::Step;
using fake::StepOptions;
using fake::value;

// A chain of steps behind rows 0 to 9.
class TransformChainTest : public testing::Test {
 protected:
  std::exception_ptr apply(std::vector<StepOptions> options) {
    steps_.clear();
    std::vector<ChainLink> links;
    Port port = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
    for (size_t i = 0; i < options.size(); ++i) {
      steps_.push_back(std::make_unique<Step>(options[i]));
      port = steps_.back()->bind({.inputs = {&port, 1}, .name = ""});
      links.push_back({.transform = steps_.back().get(), .name = cat("step_", i), .output = port});
    }
    chunk_.reset({});
    chunk_.rows.configure(fake::integer_rows(), 10);
    chunk_.rows.resize(10);
    for (int64_t row = 0; row < 10; ++row) value(chunk_.rows, row) = row;
    return TransformChain(PortType::rows, std::move(links)).apply(chunk_, memory_);
  }
  static std::string text_of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      return cat(to_string(error.kind()), ": ", error.what());
    }
  }

  std::vector<std::unique_ptr<Step>> steps_;
  Chunk chunk_;
  TaskMemory memory_;
};

TEST_F(TransformChainTest, RunsTheTransformsInOrder) {
  EXPECT_EQ(apply({{.add = 5}, {.drop_every = 2}, {.as_float = true}}), nullptr);
  ASSERT_EQ(chunk_.rows.size(), 5);
  EXPECT_EQ(chunk_.rows.spec(), Step::float_rows());
  EXPECT_EQ(*chunk_.rows.row<float>(0, 0), 5.0f);
  EXPECT_EQ(*chunk_.rows.row<float>(0, 4), 13.0f);
  EXPECT_EQ(memory_.done.size(), 3u);
  EXPECT_EQ(memory_.done[0].rows, 10u);
  EXPECT_EQ(memory_.done[1].rows, 5u);
}

TEST_F(TransformChainTest, SignsNotesAndCutsBehindTheFirstError) {
  EXPECT_EQ(apply({{.bad_every = 3}, {.fail_at = 7}, {.fail_at = 5}}), nullptr);
  ASSERT_EQ(chunk_.rows.size(), 3);  // 1 2 4
  EXPECT_EQ(value(chunk_.rows, 2), 4);
  ASSERT_EQ(chunk_.notes.size(), 3u);  // bad 0, bad 3, error at 5
  EXPECT_EQ(chunk_.notes[0].transform, 0u);
  EXPECT_EQ(chunk_.notes[2].kind, Note::Kind::error);
  EXPECT_EQ(chunk_.notes[2].transform, 2u);
  EXPECT_EQ(text_of(chunk_.notes[2].error), "data: the value 5 is bad");
}

struct Throwing : Step {
  explicit Throwing(std::function<void(Chunk&)> given) : Step({}), body(std::move(given)) {}
  void apply(Chunk& chunk) const override { body(chunk); }
  std::function<void(Chunk&)> body;
};

std::exception_ptr apply_body(Chunk& chunk, PortType input, std::function<void(Chunk&)> body) {
  const Throwing transform(std::move(body));
  const Port output = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
  TaskMemory memory;
  return TransformChain(input, {{.transform = &transform, .name = "odd", .output = output}}).apply(chunk, memory);
}

struct ClosedText : ChunkText {
  explicit ClosedText(int& given) : closed(given) {}
  void extend() override {}
  void close() noexcept override { ++closed; }
  int& closed;
};

TEST_F(TransformChainTest, ClosesItsTextHoweverItEnds) {
  int closed = 0;
  memory_.text = std::make_unique<ClosedText>(closed);
  EXPECT_EQ(apply({{.add = 5}}), nullptr);
  EXPECT_EQ(closed, 1);
  EXPECT_NE(memory_.text, nullptr) << "its memory is used again";
  const Throwing transform([&](Chunk& chunk) {
    EXPECT_EQ(closed, 1) << "not before the last transform";
    EXPECT_NE(chunk.text, nullptr);
    throw IoError("cannot read on");
  });
  const Port output = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
  const TransformChain chain(PortType::names, {{.transform = &transform, .name = "odd", .output = output}});
  EXPECT_NE(chain.apply(chunk_, memory_), nullptr);
  EXPECT_EQ(closed, 2);
}

TEST_F(TransformChainTest, ThrownDataErrorsStandBehindTheRowsAndNeedARow) {
  const auto body = [](Chunk& chunk) {
    chunk.rows.configure(fake::integer_rows(), 4);
    chunk.rows.resize(4);
    throw DataError("odd data");
  };
  Chunk made;
  EXPECT_EQ(apply_body(made, PortType::text, body), nullptr);
  EXPECT_EQ(made.rows.size(), 4);
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_EQ(made.notes[0].row, 4);
  Chunk changed;
  EXPECT_EQ(text_of(apply_body(changed, PortType::rows, body)),
            "internal: odd threw an error of the data without its row: odd data; give it to Chunk::fail() with the "
            "row");
}

TEST_F(TransformChainTest, ReturnsOtherExceptionsAsErrorsThatNameTheOp) {
  EXPECT_EQ(text_of(apply({{}, {.throw_at = 3}})), "internal: step_1: cannot bear 3");
  EXPECT_EQ(text_of(apply({{.no_memory_at = 3}})), "internal: step_0: out of memory");
  EXPECT_EQ(text_of(apply({{.io_error_at = 3}})), "io: the disk is broken");
  Chunk chunk;
  EXPECT_EQ(text_of(apply_body(chunk, PortType::rows, [](Chunk&) { throw 5; })),
            "internal: odd: an exception of unknown type");
}

TEST_F(TransformChainTest, OtherExceptionsWithARowNameTheOpToo) {
  const auto failing = [](Chunk& chunk) { chunk.fail(2, std::make_exception_ptr(std::runtime_error("odd row"))); };
  Chunk chunk;
  chunk.rows.configure(fake::integer_rows(), 4);
  chunk.rows.resize(4);
  EXPECT_EQ(apply_body(chunk, PortType::rows, failing), nullptr);
  ASSERT_EQ(chunk.notes.size(), 1u);
  EXPECT_EQ(text_of(chunk.notes[0].error), "internal: odd: odd row");
  EXPECT_EQ(chunk.rows.size(), 2);
}

TEST_F(TransformChainTest, RefusesRowsThatWereNotAnnounced) {
  Chunk chunk;
  const std::exception_ptr failure = apply_body(chunk, PortType::rows, [](Chunk& made) {
    made.rows.configure(Step::float_rows(), 1);
    made.rows.resize(1);
  });
  EXPECT_EQ(text_of(failure), "internal: odd announced rows of (x: int64 (1)) and made rows of (y: float32 (1))");
}

TEST_F(TransformChainTest, RefusesErrorsThatAreNull) {
  for (const PortType input : {PortType::rows, PortType::text}) {
    Chunk chunk;
    EXPECT_EQ(text_of(apply_body(chunk, input, [](Chunk& made) { made.fail(0, nullptr); })),
              "internal: odd gave Chunk::fail() a null pointer for an error");
  }
}

TEST_F(TransformChainTest, GoesByTheLinkWhetherBadRowsStay) {
  RowSpec rows = fake::integer_rows();
  rows.fields.front().name = kRowError;
  const Step step({.add = 5});
  const Port output = {.type = PortType::rows, .format = {}, .rows = rows};
  Chunk chunk;
  chunk.rows.configure(rows, 2);
  chunk.rows.resize(2);
  value(chunk.rows, 0) = value(chunk.rows, 1) = 3;
  const TransformChain chain(PortType::rows, {{.transform = &step, .name = "step", .output = output}});
  EXPECT_EQ(chain.apply(chunk, memory_), nullptr);
  EXPECT_EQ(value(chunk.rows, 1), 8) << "a number, whatever its name";
}

TEST_F(TransformChainTest, TakesTextAndSpareMemoryBack) {
  class Text : public ChunkText {
    void extend() override {}
  };
  const ChunkText* seen = nullptr;
  Chunk chunk;
  TaskMemory memory;
  const Port output = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
  const Throwing transform([&](Chunk& given) {
    if (!given.text) given.text = std::make_unique<Text>();
    seen = given.text.get();
    given.spare.configure(fake::integer_rows(), 50);
  });
  const TransformChain chain(PortType::names, {{.transform = &transform, .name = "read", .output = output}});
  EXPECT_EQ(chain.apply(chunk, memory), nullptr);
  EXPECT_EQ(chunk.text, nullptr);
  EXPECT_EQ(chunk.spare.capacity(), 0);
  EXPECT_EQ(memory.spare.capacity(), 50);
  const ChunkText* first = seen;
  Chunk other;
  EXPECT_EQ(chain.apply(other, memory), nullptr);
  EXPECT_EQ(seen, first);
}

}  // namespace
}  // namespace millrace
