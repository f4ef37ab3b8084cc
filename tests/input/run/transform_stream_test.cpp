#include "millrace/input/run/transform_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <stdexcept>

#include "millrace/core/errors.h"
#include "millrace/input/run/chunk_stream.h"
#include "millrace/input/run/row_ids.h"
#include "tests/input/graph/fake_ops.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using fake::IntegerOptions;
using fake::Integers;
using fake::Step;
using fake::StepOptions;
using fake::value;

Port rows_port() { return {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()}; }

// Integers, and a step behind their stream.
struct Harness {
  explicit Harness(StepOptions options, int64_t rows = 30)
      : source({.rows = rows, .unit_rows = 4}),
        step(options),
        input(source, 0, "integers", rows_port(), {}),
        stream(input, {"integers"}, fake::integer_rows(),
               {{.transform = &step, .name = "step", .output = output(), .reporter = &step}},
               RowFacts{[this](const RowId& id) { return source.place(id); }, source.endless()}) {
    stream.start(&events);
  }
  Port output() {
    const Port port = rows_port();
    return step.bind({.inputs = {&port, 1}, .name = "step"});
  }
  std::vector<int64_t> read(int64_t rows = INT64_MAX, int64_t at_most = 7) {
    std::vector<int64_t> out;
    while (rows > 0) {
      const RowSpan span = stream.pull(std::min(rows, at_most));
      for (int64_t i = 0; i < span.count; ++i) out.push_back(value(*span.block, span.begin + i));
      if (!span) break;
      rows -= span.count;
    }
    return out;
  }

  Integers source;
  Step step;
  StreamEvents events;
  ChunkStream input;
  TransformStream stream;
};

TEST(TransformStream, TransformsWhatItPulls) {
  Harness harness({.drop_every = 3, .add = 100}, 10);
  EXPECT_EQ(harness.read(), (std::vector<int64_t>{101, 102, 104, 105, 107, 108}));
  std::vector<Dropped> dropped;
  harness.stream.add_dropped(dropped);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].rows, 4u);
  EXPECT_EQ(harness.stream.work().front().rows, 6u);
}

TEST(TransformStream, NeverTakesMoreThanItIsAskedFor) {
  Harness harness({});
  EXPECT_EQ(harness.read(5, 2), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  const RowSpan rest = harness.input.pull(1);
  EXPECT_EQ(value(*rest.block, rest.begin), 5);
}

TEST(TransformStream, ErrorsComeInTheirPlaceAndAgain) {
  Harness harness({.fail_at = 17});
  for (int round = 0; round < 2; ++round) {
    std::vector<int64_t> got;
    try {
      for (;;) {
        const std::vector<int64_t> more = harness.read(1);
        got.insert(got.end(), more.begin(), more.end());
      }
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "integers:18: the value 17 is bad");
    }
    EXPECT_EQ(got.size(), round == 0 ? 17u : 0u);
  }
  Harness broken({.throw_at = 5});
  EXPECT_THROW(broken.read(), InternalError);
}

TEST(TransformStream, RewindsItsInput) {
  Harness harness({.add = 1}, 5);
  const std::vector<int64_t> first = harness.read();
  harness.stream.rewind(1);
  EXPECT_EQ(harness.read(), first);
}

TEST(TransformStream, FetchesRowsAgain) {
  Harness harness({.drop_every = 2, .add = 7});
  harness.read();
  RowBlock block;
  block.configure(fake::integer_rows(), 1);
  block.resize(1);
  harness.stream.fetch({.pass = 0, .offset = 9, .line = 10, .next_line = 11}, block, 0);
  EXPECT_EQ(value(block, 0), 16);
  EXPECT_THROW(harness.stream.fetch({.pass = 0, .offset = 8, .line = 9, .next_line = 10}, block, 0), DataError);
}

// Reads on to the end or to the error, which becomes the last text.
std::vector<std::string> rest_of(Harness& harness) {
  std::vector<std::string> out;
  try {
    for (;;) {
      const std::vector<int64_t> more = harness.read(1);
      if (more.empty()) return out;
      out.push_back(cat(more[0]));
    }
  } catch (const DataError& error) {
    out.emplace_back(error.what());
    return out;
  }
}

TEST(TransformStream, GoesOnFromEveryRowAndBeforeAnError) {
  for (const StepOptions& options :
       {StepOptions{.drop_every = 4, .bad_every = 7}, StepOptions{.bad_every = 3, .fail_at = 20}}) {
    Harness whole(options);
    const std::vector<std::string> expected = rest_of(whole);
    for (int64_t k = 0; k < std::ssize(expected); ++k) {
      Harness first(options), second(options);
      first.read(k);
      State input, state;
      first.input.save(input);
      first.stream.save(state);
      second.input.restore(input);
      second.stream.restore(State::decode(state.encode()));
      EXPECT_EQ(rest_of(second), std::vector<std::string>(expected.begin() + k, expected.end())) << k;
      EXPECT_EQ(second.stream.bad_rows(), whole.stream.bad_rows());
    }
  }
}

TEST(TransformStream, RefusesAStateOfMoreRowsThanItTakes) {
  Harness harness({});
  const RowSpec wide = {{{.name = "x", .dtype = DType::i64, .shape = Shape({10000})}}};
  TransformStream stream(harness.input, {"integers"}, wide,
                         {{.transform = &harness.step, .name = "step", .output = rows_port()}}, {});
  State state;
  harness.stream.save(state);
  save_ids(state, "taken", std::vector<RowId>(4));
  EXPECT_EQ(error_of<DataError>([&] { stream.restore(state); }),
            "the saved state has 4 rows where 3 are taken at most");
}

TEST(TransformStream, BoundsItsMemory) {
  Harness harness({});
  EXPECT_EQ(harness.stream.memory_bound(), 2 * 1024 * (64 + sizeof(RowId)));
  TransformStream patient(harness.input, {"integers"}, fake::integer_rows(),
                          {{.transform = &harness.step, .name = "step", .output = rows_port(), .patient = true}}, {});
  EXPECT_EQ(patient.memory_bound(), 4 * 1024 * (64 + sizeof(RowId)));
}

// What `pull` gives or throws.
class Buffer final : public RowBuffer {
 public:
  explicit Buffer(std::function<RowSpan(int64_t)> pull) : pull_(std::move(pull)) {}
  RowSpan pull(int64_t at_most) override { return pull_(at_most); }
  void save(State&) const override {}
  void restore(const State&) override {}

 private:
  const std::function<RowSpan(int64_t)> pull_;
};

std::string error_of_pull(const std::function<RowSpan(int64_t)>& pull) {
  Buffer buffer(pull);
  TransformStream stream(buffer, {"mine", {"a.yaml", 3, 5}}, {}, {}, {});
  return error_of<Error>([&] { stream.pull(5); });
}

// Counts how often it is asked.
class Asked final : public RowBuffer {
 public:
  RowSpan pull(int64_t) override { return {}; }
  uint32_t passes() const override { return ++questions_, RowBuffer::passes() + 1; }
  int64_t spread() const override { return ++questions_, RowBuffer::spread() + 1; }
  void save(State&) const override {}
  void restore(const State&) override {}
  int questions() const { return questions_; }

 private:
  mutable int questions_ = 0;
};

TEST(TransformStream, AsksEachBufferOfALongListOnce) {
  const Port rows = rows_port();
  std::deque<Asked> buffers(100);
  std::deque<TransformStream> streams;
  for (Asked& buffer : buffers) {
    RowStream* const before = streams.empty() ? nullptr : &streams.back();
    buffer.bind({.inputs = {&rows, 1}, .streams = {&before, before == nullptr ? size_t{0} : size_t{1}}});
    streams.emplace_back(buffer, Origin{"asked"}, fake::integer_rows(), std::vector<ChainLink>(), RowFacts());
  }
  EXPECT_EQ(streams.back().passes(), 101u);
  EXPECT_EQ(streams.back().spread(), 100);
  for (const Asked& buffer : buffers) EXPECT_EQ(buffer.questions(), 2);
}

TEST(TransformStream, WithoutTransformsGivesTheRowsOfTheBuffer) {
  RowBlock block;
  Buffer buffer([&](int64_t at_most) { return RowSpan{&block, 3, at_most}; });
  TransformStream stream(buffer, {"mine", {"a.yaml", 3, 5}}, {}, {}, {});
  const RowSpan rows = stream.pull(5);
  EXPECT_EQ(rows.block, &block);
  EXPECT_EQ(rows.begin, 3);
  EXPECT_EQ(rows.count, 5);
}

TEST(TransformStream, RefusesMoreRowsThanWereAskedFor) {
  RowBlock block;
  EXPECT_EQ(error_of_pull([&](int64_t at_most) {
              return RowSpan{&block, 0, at_most + 1};
            }),
            "a.yaml:3:5: mine: pull() gave 6 rows, but was asked for 5 at most");
}

TEST(TransformStream, RefusesRowsOfNoBlock) {
  EXPECT_EQ(error_of_pull([](int64_t) {
              return RowSpan{nullptr, 0, 1};
            }),
            "a.yaml:3:5: mine: pull() gave rows of no block");
}

TEST(TransformStream, NamesTheOpInWhatIsNoErrorOfTheLibrary) {
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw std::runtime_error("no rows today"); }),
            "a.yaml:3:5: mine: no rows today");
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw 5; }), "a.yaml:3:5: mine: an exception of unknown type");
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw DataError("bad", {"a.csv", 2, 0}); }), "a.csv:2: bad");
}

}  // namespace
}  // namespace millrace
