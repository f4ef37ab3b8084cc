#include <gtest/gtest.h>

#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/graph/fake_graph.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using fake::build;
using fake::error_of;
using fake::list;
using fake::of;
using fake::op;

TEST(PortType, HasAName) {
  EXPECT_EQ(to_string(PortType::none), "nothing");
  EXPECT_EQ(to_string(PortType::names), "names");
  EXPECT_EQ(to_string(PortType::text), "text");
  EXPECT_EQ(to_string(PortType::rows), "rows");
  EXPECT_EQ(to_string(PortType::batches), "batches");
}

TEST(InputGraph, SaysWhatItGives) {
  const InputGraph graph =
      build(list({op("integers"), op("step", {{"as_float", Spec::of(true)}}), op("group", {{"batch_size", of(7)}})}));
  EXPECT_EQ(graph.output().type, PortType::batches);
  EXPECT_EQ(graph.output().batch_size, 7);
  EXPECT_EQ(graph.output().rows.text(), "y: float32 (1)");
  EXPECT_TRUE(graph.warnings().empty());
  EXPECT_EQ(graph.resolved().size(), 3u);
}

TEST(InputGraph, MustEndInBatches) {
  EXPECT_EQ(error_of(list({op("integers"), op("step")})),
            "input[1]: the last op must give batches, but step gives rows; end the list with batch");
  EXPECT_EQ(error_of(list({op("names")})),
            "input[0]: the last op must give batches, but names gives names; end the list with csv_reader, decode_csv "
            "and batch");
}

TEST(InputGraph, GivesErrorsOfAnOpItsPlace) {
  try {
    build(list({op("integers"), op("refusing"), op("group")}));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "input[1]: nothing to do for refusing");
    EXPECT_TRUE(error.place().known());
  }
}

TEST(InputGraph, ChecksFiles) {
  build(list({op("integers"), op("group")})).check_files();
  const InputGraph graph = build(list({op("integers"), op("unchecked"), op("group")}));
  try {
    graph.check_files();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "b.csv:1: the header differs");
  }
}

// Opens a file that nothing names.
class Table final : public fake::Integers {
 public:
  using Integers::Integers;
  std::vector<std::shared_ptr<const FileEntry>> files() const override {
    return {std::make_shared<const FileEntry>(FileEntry{.path = "table.bin"})};
  }
};

// Opens a file of labels for each file that is named.
class Labelled final : public FileSource {
 public:
  using Options = fake::NoOptions;
  static constexpr std::string_view kDoc = "rows of two files each";
  explicit Labelled(Options) : FileSource({}) {}
  Port open(const BindArgs&) override { return {.type = PortType::rows, .rows = fake::integer_rows()}; }
  std::vector<std::shared_ptr<const FileEntry>> files() const override {
    std::vector<std::shared_ptr<const FileEntry>> all = FileSource::files();
    const size_t named = all.size();
    for (size_t i = 0; i < named; ++i) {
      all.push_back(std::make_shared<const FileEntry>(
          FileEntry{.path = all[i]->path + ".labels", .index = static_cast<uint32_t>(named + i)}));
    }
    return all;
  }
  void read(Chunk&) const override {}
  ChunkBound chunk_bound() const override { return {}; }
};

TEST(InputGraph, ListsTheFilesOfEverySource) {
  OpRegistry ops = fake::all_kinds();
  ops.add<Table>("table");
  ops.add<Labelled>("labelled");
  testing_support::MemoryFiles files;
  files.files = {{"a", "1"}, {"b", "2"}};
  const auto read_by = [&](std::vector<Spec> sources) {
    sources.push_back(op("group"));
    return InputGraph::build(list(std::move(sources)), ops, {.seed = 1, .files = &files}).files().read;
  };
  EXPECT_EQ(read_by({op("table")}), std::vector<std::string>{"table.bin"});
  EXPECT_EQ(read_by({op("filename_queue", {{"files", Spec::list({"b", "a"})}}), op("labelled")}),
            (std::vector<std::string>{"b", "a", "b.labels", "a.labels"}));
}

// Gives its rows a field that has the name of kRowError.
class Erring final : public fake::Step {
 public:
  explicit Erring(fake::StepOptions options) : Step(options) {}
  Port bind(const BindArgs& args) override {
    Port port = args.inputs.front();
    port.rows.fields.front().name = kRowError;
    return port;
  }
};

TEST(InputGraph, RefusesAFieldThatOnlyLooksLikeThatOfBadRows) {
  OpRegistry ops = fake::all_kinds();
  ops.add<Erring>("erring");
  for (const bool bad_rows_stay : {false, true}) {
    try {
      InputGraph::build(list({op("integers"), op("erring"), op("group")}), ops,
                        {.seed = 1, .bad_rows_stay = bad_rows_stay});
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.message(), "input[1]: erring gives a field that is called \"(error)\"");
      EXPECT_EQ(error.hint(), "this name says what is wrong with a row: choose another");
    }
  }
}

// Announces a field of a type that does not exist.
class Untyped final : public fake::Step {
 public:
  explicit Untyped(fake::StepOptions options) : Step(options) {}
  Port bind(const BindArgs& args) override {
    Port port = args.inputs.front();
    port.rows.fields.front().dtype = static_cast<DType>(99);
    return port;
  }
};

TEST(InputGraph, RefusesAFieldOfATypeThatDoesNotExist) {
  OpRegistry ops = fake::all_kinds();
  ops.add<Untyped>("untyped");
  try {
    InputGraph::build(list({op("integers"), op("untyped"), op("group")}), ops, {.seed = 1});
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.message(), "input[1]: there is no DType of the number 99");
    EXPECT_TRUE(error.place().known());
  }
}

// Lets the source run ahead by fewer rows than none.
class Behind final : public fake::Step {
 public:
  explicit Behind(fake::StepOptions options) : Step(options) {}
  Ahead ahead() const override { return {-5, 0}; }
};

// Lets its input run ahead by fewer rows than none.
class Hold final : public fake::First {
 public:
  explicit Hold(const Options& options) : First(options) {}
  void set_ahead(int64_t, int threads) override { input().set_ahead(-5, threads); }
};

TEST(InputGraph, RefusesToRunAheadByFewerRowsThanNone) {
  OpRegistry ops = fake::all_kinds();
  ops.add<Behind>("behind");
  ops.add<Hold>("hold");
  const auto error_with = [&](const Spec& change, const Spec& batch) -> std::string {
    try {
      InputGraph::build(list({op("integers"), change, batch}), ops, {.seed = 1});
    } catch (const InternalError& error) {
      EXPECT_TRUE(error.place().known());
      return error.message();
    }
    return "no error";
  };
  const std::string text = ": Ahead is -5 rows and 0 threads, neither may be negative";
  EXPECT_EQ(error_with(op("step"), op("group", {{"capacity", of(-5)}})), "group" + text);
  EXPECT_EQ(error_with(op("behind"), op("group")), "behind" + text);
  EXPECT_EQ(error_with(op("hold", {{"rows", of(9)}}), op("group")), "hold" + text);
  EXPECT_EQ(error_with(op("step"), op("group", {{"threads", of(-1)}})),
            "group: Ahead is 20 rows and -1 threads, neither may be negative");
}

TEST(InputGraph, CollectsWarnings) {
  const InputGraph graph = build(list({op("integers"), op("group", {{"batch_size", of(13)}})}));
  EXPECT_EQ(graph.warnings(), (std::vector<std::string>{"group: 13 is unlucky"}));
}

TEST(InputGraph, BoundsItsMemory) {
  const auto bound = [](int64_t ahead, int threads, const char* step) {
    return build(list({op("integers", {{"unit_rows", of(10)}}), op(step), op("group", {{"capacity", of(ahead)}})}))
        .memory_bound(threads);
  };
  const uint64_t row = 64 + sizeof(RowId);
  EXPECT_EQ(bound(1000, 2, "step") - bound(0, 2, "step"), 2 * 1000 * row);  // in blocks that grow by doubling
  EXPECT_EQ(bound(0, 3, "step") - bound(0, 2, "step"), 2 * 2 * 10 * row);   // a chunk and a spare block, both doubled
  EXPECT_EQ(bound(0, 2, "unchecked") - bound(0, 2, "step"), uint64_t{1} << 20);
}

}  // namespace
}  // namespace millrace
