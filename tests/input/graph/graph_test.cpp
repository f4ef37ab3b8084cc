#include <gtest/gtest.h>

#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/graph/fake_graph.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using fake::list;
using fake::of;
using fake::op;

// With the built-in kinds, which hints name.
OpRegistry registry() {
  OpRegistry ops = fake::registry();
  const OpRegistry builtin = builtin_ops();
  for (const auto& [kind, entry] : builtin.entries()) ops.add(kind, entry);
  return ops;
}

InputGraph build(const Spec& spec) { return InputGraph::build(spec, registry(), {.seed = 1, .files = nullptr}); }

std::string error_of(const Spec& spec) {
  try {
    build(spec);
  } catch (const Error& error) {
    return cat(error.message(), error.hint().empty() ? "" : "; ", error.hint());
  }
  return "built";
}

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

TEST(InputGraph, ATransformOfRowsMayStandBehindABatch) {
  const InputGraph graph =
      build(list({op("integers"), op("group", {{"batch_size", of(7)}}), op("step", {{"as_float", Spec::of(true)}})}));
  EXPECT_EQ(graph.output().type, PortType::batches);
  EXPECT_EQ(graph.output().batch_size, 7);
  EXPECT_EQ(graph.output().rows.text(), "y: float32 (1)");
}

TEST(InputGraph, GivesNoHintWhereNoKindHelps) {
  try {
    InputGraph::build(list({op("names"), op("reader"), op("group")}), fake::registry(), {});
    ADD_FAILURE() << "it was built";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "input[2]: group expects rows, but reader gives text");
    EXPECT_EQ(error.hint(), "");
  }
}

TEST(InputGraph, NamesBothSidesOfAPortThatDoesNotFit) {
  EXPECT_EQ(error_of(list({op("names"), op("step"), op("group")})),
            "input[1]: step expects rows, but names gives names; put csv_reader and decode_csv between them");
  EXPECT_EQ(error_of(list({op("names"), op("reader"), op("group")})),
            "input[2]: group expects rows, but reader gives text; put decode_csv between them");
  EXPECT_EQ(error_of(list({op("integers"), op("reader"), op("group")})),
            "input[1]: reader expects names, but integers gives rows; remove reader: integers gives rows already");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("first", {{"rows", of(1)}}), op("group")})),
            "input[2]: first expects rows, but group gives batches; put first before group");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("step"), op("first", {{"rows", of(1)}})})),
            "input[3]: first expects rows, but step gives batches; put first before group");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("step"), op("group")})),
            "input[3]: group_2 expects rows, but step gives batches; one op makes the batches: remove group or "
            "group_2");
  EXPECT_EQ(error_of(list({op("names"), op("reader"), op("reader"), op("group")})),
            "input[2]: reader_2 expects names, but reader gives text; remove reader_2: reader gives text already");
  EXPECT_EQ(error_of(list({op("step"), op("group")})),
            "input[0]: step expects rows, but no op stands before it; put filename_queue, csv_reader and decode_csv "
            "before it");
}

TEST(InputGraph, MustEndInBatches) {
  EXPECT_EQ(error_of(list({op("integers"), op("step")})),
            "input[1]: the last op must give batches, but step gives rows; end the list with batch");
  EXPECT_EQ(error_of(list({op("names")})),
            "input[0]: the last op must give batches, but names gives names; end the list with csv_reader, decode_csv "
            "and batch");
}

TEST(InputGraph, FindsInputsByName) {
  const Spec good = list({op("integers", {{"name", of("a")}}), op("integers", {{"name", of("b")}}),
                          op("step", {{"name", of("s")}, {"from", of("a")}}),
                          op("zip", {{"from", Spec::list().append(of("s")).append(of("b"))}}), op("group")});
  EXPECT_EQ(error_of(good), "built");
  EXPECT_EQ(error_of(list({op("integers"), op("group", {{"from", of("integrs")}})})),
            "input[1]: group takes from \"integrs\", but no op has that name; did you mean integers?");
  EXPECT_EQ(error_of(list({op("integers"), op("group", {{"from", of("nowhere")}})})),
            "input[1]: group takes from \"nowhere\", but no op has that name; the ops above it are integers");
  EXPECT_EQ(
      error_of(list({op("integers"), op("step", {{"from", of("group")}}), op("group")})),
      "input[1]: step takes from group, which does not stand before it; move it up: an op takes from ops above it");
  EXPECT_EQ(error_of(list({op("integers"), op("step", {{"from", of("step")}}), op("group")})),
            "input[1]: step takes from itself; name an op above it, or leave from out: then it takes from the op "
            "before it");
}

TEST(InputGraph, CountsInputs) {
  EXPECT_EQ(error_of(list({op("integers"), op("zip"), op("group")})),
            "input[1]: zip takes 2 inputs, got 0; name them in from: [a, b]");
  EXPECT_EQ(error_of(list({op("integers"), op("zip", {{"from", of("integers")}}), op("group")})),
            "input[1]: zip takes 2 inputs, got 1; name them in from: [a, b]");
  EXPECT_EQ(error_of(list({op("names"), op("integers", {{"from", of("names")}}), op("group")})),
            "input[1]: integers takes no input, got 1");
}

TEST(InputGraph, EveryOutputGoesToOneOp) {
  EXPECT_EQ(error_of(list({op("integers"), op("integers"), op("group")})),
            "input[0]: no op uses integers; name it in a from, or remove it");
  EXPECT_EQ(
      error_of(list({op("integers"), op("zip", {{"from", Spec::list().append(of("integers")).append(of("integers"))}}),
                     op("group")})),
      "input[0]: integers is used by zip and zip; an op's output goes to one op; write the op once for each of them");
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
  OpRegistry ops = registry();
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
