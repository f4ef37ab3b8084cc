#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::make_op;
using testing_support::MemoryFiles;

class VocabularyTest : public ::testing::Test {
 protected:
  VocabularyTest() { files_.files["t.csv"] = "red,5\nblue,6\n\"red\",7\n,8\n"; }
  GraphCheck graph(const std::string& ops, const std::string& columns = "columns: 0, default: \"\"") {
    return {files_, cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 3}\n"
                        "- decode_csv: {fields: {c: {type: string, ",
                        columns, "}, y: {columns: 1, type: string}}}\n", ops,
                        "- batch: {batch_size: 10, allow_smaller_final_batch: true}\n")};
  }
  MemoryFiles files_;
};

TEST_F(VocabularyTest, GivesEachTextItsPlaceInTheList) {
  EXPECT_EQ(graph("- vocabulary: {field: c, texts: [blue, red, \"\"], as: code}\n").check(),
            (Lines{"t.csv:1 c=\"red\" y=\"5\" code=1", "t.csv:2 c=\"blue\" y=\"6\" code=0",
                   "t.csv:3 c=\"red\" y=\"7\" code=1", "t.csv:4 c=\"\" y=\"8\" code=2"}));
}

TEST_F(VocabularyTest, UnknownTextsHaveOneCodeOrAreAnErrorOfTheirRow) {
  EXPECT_EQ(graph("- vocabulary: {field: c, texts: [red], as: code, unknown: code}\n- filter: {field: code, op: ==, "
                  "value: 1}\n")
                .check(),
            (Lines{"t.csv:2 c=\"blue\" y=\"6\" code=1", "t.csv:4 c=\"\" y=\"8\" code=1"}));
  EXPECT_EQ(graph("- vocabulary: {field: c, texts: [red, Blue], as: code}\n").check().back(),
            "error t.csv:2: the field c holds \"blue\", which is none of its 2 texts; did you mean \"Blue\"?");
  files_.files["t.csv"] = "red,1\nviolet,1\n";
  EXPECT_EQ(graph("- vocabulary: {field: c, texts: [red], as: code}\n").check().back(),
            "error t.csv:2: the field c holds \"violet\", which is none of its 1 text; add it to texts, or set "
            "unknown: code");
}

TEST_F(VocabularyTest, TakesSeveralColumnsAndWholeNumbersBeyondFloat32) {
  files_.files["t.csv"] = "16777217,16777216\n16777216,9007199254740993\n";
  EXPECT_EQ(graph("- vocabulary: {field: c, texts: [16777216, 16777217, 9007199254740993], as: code}\n"
                  "- one_hot: {field: code, classes: 3, as: hot}\n",
                  "columns: 0-1")
                .check(),
            (Lines{"t.csv:1 c=\"16777217\",\"16777216\" y=\"16777216\" code=1,0 hot=0,1,0,1,0,0",
                   "t.csv:2 c=\"16777216\",\"9007199254740993\" y=\"9007199254740993\" code=0,2 hot=1,0,0,0,0,1"}));
}

TEST_F(VocabularyTest, RefusesWhatIsNoVocabulary) {
  const auto refused = [&](const std::string& options) {
    return error_of([&] { graph(cat("- vocabulary: {", options, "}\n")).graph(); });
  };
  EXPECT_NE(refused("field: c, texts: [a, b, a], as: d").find("the text \"a\" is listed twice in texts"),
            std::string::npos);
  EXPECT_NE(refused("field: c, texts: [], as: d").find("expected at least one text"), std::string::npos);
  EXPECT_NE(refused("field: c, texts: [a], as: y").find("there is a field \"y\" already"), std::string::npos);
  files_.files["n.csv"] = "1\n";
  const GraphCheck number(files_,
                          "- filename_queue: {files: n.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {n: "
                          "{columns: 0}}}\n- vocabulary: {field: n, texts: [a], as: d}\n- batch: {batch_size: 1}\n");
  EXPECT_EQ(
      error_of([&] { number.graph(); }),
      "input.yaml:4:3: [3]: vocabulary takes fields of type string, n is float32 (1); decode it so: {n: {columns: "
      ".., type: string}}");
  files_.files["w.csv"] = "a b\na\n";
  const auto words = [&](const std::string& before) {
    return GraphCheck(
        files_, cat("- filename_queue: {files: w.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {w: "
                    "{columns: 0, type: string, split: \" \"}}}\n",
                    before, "- vocabulary: {field: w, texts: [a, b, \"\"], as: d}\n", "- batch: {batch_size: 2}\n"));
  };
  EXPECT_EQ(error_of([&] { words("").graph(); }),
            "input.yaml:4:3: [3]: vocabulary takes fields of type string, w is string (ragged); put pad: {fields: w, "
            "length: ..} before it");
  EXPECT_EQ(words("- pad: {fields: w, length: 2}\n").check(),
            (Lines{"w.csv:1 w=\"a\",\"b\" d=0,1", "w.csv:2 w=\"a\",\"\" d=0,2"}))
      << "as the hint says";
}

TEST_F(VocabularyTest, TellsWhatACodeStandsFor) {
  const auto op = make_op<Transform>(
      "vocabulary",
      Spec::map().set("field", "class").set("texts", testing_support::list_of({"no", "yes"})).set("as", "label"));
  FieldHistory history{.field = "label"}, other{.field = "class"};
  op->undo(history);
  EXPECT_EQ(history.field, "class");
  EXPECT_EQ(history.texts, (std::vector<std::string>{"no", "yes"}));
  op->undo(other);
  EXPECT_TRUE(other.texts.empty());
  EXPECT_EQ(op->concerned_fields(), (std::vector<std::string>{"class", "label"}));
}

}  // namespace
}  // namespace millrace
