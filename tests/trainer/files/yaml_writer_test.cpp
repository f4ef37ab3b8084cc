#include "millrace/trainer/files/yaml_writer.h"

#include <random>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Equal as a configuration: a text's quoting counts only where it decides what the text is.
bool equal(const Spec& a, const Spec& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_scalar()) return a.as_string() == b.as_string() && (a.quoted() == b.quoted() || !looks_typed(a.as_string()));
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.is_list() && !equal(a.items()[i], b.items()[i])) return false;
    if (!a.is_map()) continue;
    const auto& [key_a, value_a] = a.entries()[i];
    const auto& [key_b, value_b] = b.entries()[i];
    if (key_a != key_b || !equal(value_a, value_b)) return false;
  }
  return true;
}

TEST(YamlWriter, LooksAsPeopleWriteIt) {
  const std::string text =
      "seed: 23\n"
      "device: auto\n"
      "input:\n"
      "  - filename_queue: {files: \"data/sum/examples-*.csv\", shuffle: true, epochs: 2}\n"
      "  - decode_csv:\n"
      "      fields:\n"
      "        features: {columns: 0-1023, type: float32, missing: [NA, \"\"]}\n"
      "        label: {columns: 1024, default: \"0\", type: float32, missing: []}\n"
      "  - batch\n"
      "model:\n"
      "  - dense: {units: 1024, activation: relu}\n"
      "metrics: [accuracy]\n"
      "optimizer: {sgd: {learning_rate: 0.1}}\n"
      "train: {}\n"
      "nothing: null\n";
  EXPECT_EQ(to_yaml(parse_yaml(text, "f")), text);
}

TEST(YamlWriter, QuotesWhatWouldBeReadAsSomethingElse) {
  Spec spec = Spec::map();
  for (const char* word : {"true",  "No",      "null",        "~",         "",     "12",  "-1",  ".5", "+3", ".inf",
                           "1e3",   "0x1f",    "relu",        "a b",       "a: b", "# x", "- x", "{",  "*",  "é",
                           "tab\t", "quote\"", "back\\slash", "new\nline", "---",  "..."}) {
    spec.set(cat("k", spec.size()), word);
  }
  const Spec back = parse_yaml(to_yaml(spec), "f");
  EXPECT_TRUE(equal(spec, back)) << to_yaml(spec);
  EXPECT_THROW(back.find("k0")->as_bool(), ConfigError);
  EXPECT_THROW(back.find("k5")->as_int(), ConfigError);
  EXPECT_FALSE(back.find("k2")->is_null());
}

TEST(YamlWriter, NumbersStayNumbers) {
  Spec spec = Spec::map();
  spec.set("a", 0.1).set("b", -5).set("c", true).set("d", 1e300);
  spec.set("e", Spec::scalar("-.inf", false, {}));
  spec.set("f", Spec::scalar(".nan", false, {}));
  const Spec back = parse_yaml(to_yaml(spec), "f");
  EXPECT_EQ(back.find("a")->as_double(), 0.1);
  EXPECT_EQ(back.find("b")->as_int(), -5);
  EXPECT_TRUE(back.find("c")->as_bool());
  EXPECT_EQ(back.find("d")->as_double(), 1e300);
  EXPECT_LT(back.find("e")->as_double(), -1e308);
  EXPECT_NE(back.find("f")->as_double(), back.find("f")->as_double());
}

TEST(YamlWriter, LongListsOfScalarsTakeAsFewLinesAsTheyCan) {
  Spec numbers = Spec::list(Place{}), list = Spec::list(Place{});
  for (int i = 0; i < 40; ++i) numbers.append(Spec::scalar(cat(i * 1000), false, {}));
  numbers.append(Spec::scalar("1", true, {}))
      .append(Spec::null())
      .append(Spec::scalar(std::string(200, 'x'), true, {}));
  list.append(Spec::map(Place{}).set("mean", numbers)).append(numbers);
  const std::string text = to_yaml(list);
  EXPECT_TRUE(text.starts_with("- mean: [0, 1000, 2000, ")) << text;
  EXPECT_NE(text.find(",\n    16000, "), std::string::npos) << text;
  EXPECT_NE(text.find("\n- [0, 1000, 2000, "), std::string::npos) << text;
  EXPECT_TRUE(equal(parse_yaml(text, "f"), list)) << text;
}

TEST(YamlWriter, RefusesWhatCannotBeRead) {
  EXPECT_EQ(error_of<ConfigError>([] { to_yaml(Spec::list(Place{}).append(Spec::scalar("\xff", true, {}))); }),
            "[0]: the text \"\xff\" is not UTF-8 and cannot be written as YAML");
  EXPECT_THROW(to_yaml(Spec::scalar(std::string(1, '\0'), true, {})), ConfigError);
  EXPECT_THROW(to_yaml(Spec::map(Place{}).set(std::string(300, 'k'), 1)), ConfigError);
}

class RandomSpec {
 public:
  explicit RandomSpec(unsigned seed) : random_(seed) {}

  Spec make(int depth) {
    switch (below(depth > 0 ? 6 : 3)) {
      case 0: return Spec::null();
      case 1: return Spec::scalar(text(), true, {});
      case 2: return Spec::scalar(cat(static_cast<int>(below(2000)) - 1000), false, {});
      case 3:
      case 4: {
        Spec map = Spec::map(Place{});
        for (size_t count = below(5); count > 0; --count) map.set(text(), make(depth - 1));
        return map;
      }
      default: {
        Spec list = Spec::list(Place{});
        for (size_t count = below(5); count > 0; --count) list.append(make(depth - 1));
        return list;
      }
    }
  }

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  std::string text() {
    static const std::vector<std::string> kPieces = {"a",
                                                     "Z",
                                                     "0",
                                                     "9",
                                                     "-",
                                                     ".",
                                                     "+",
                                                     ":",
                                                     " ",
                                                     "#",
                                                     "\n",
                                                     "'",
                                                     "\"",
                                                     "{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     ",",
                                                     "&",
                                                     "*",
                                                     "!",
                                                     "|",
                                                     ">",
                                                     "%",
                                                     "@",
                                                     "\\",
                                                     "~",
                                                     "?",
                                                     "=",
                                                     "\x1b",
                                                     "\xc3\xa9",
                                                     "\t",
                                                     "/",
                                                     "_",
                                                     "<",
                                                     "\r",
                                                     "\xe2\x82\xac",
                                                     "null",
                                                     "true",
                                                     "---",
                                                     "...",
                                                     "\xc2\x85",
                                                     "\xe2\x80\xa8",
                                                     "\xef\xbb\xbf",
                                                     "\xf0\x9f\x98\x80"};
    std::string out;
    for (size_t count = below(7); count > 0; --count) out += kPieces[below(kPieces.size())];
    return out;
  }

  std::mt19937 random_;
};

TEST(YamlWriter, EverySpecReadsBackEqual) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Spec spec = RandomSpec(seed).make(5);
    const std::string text = to_yaml(spec);
    ASSERT_TRUE(equal(spec, parse_yaml(text, "f"))) << "seed " << seed << '\n' << text;
  }
}

TEST(YamlWriter, CommentsStandBesideTheirValuesOrAbove) {
  Spec ops = Spec::list();
  ops.append(Spec::map({{"batch", {{"size", 8}, {"rest", true}}}}));
  std::vector<Spec> numbers(60, Spec::of(12345));
  ops.append(Spec::map({{"scale", {{"by", Spec::list(std::move(numbers), {})}, {"kind", "x"}}}}));
  ops.append(Spec::map({{"print", Spec::map()}}));
  Spec spec = Spec::map({{"input", ops}, {"seed", 1}});
  spec.set_path("");
  const std::string text = to_yaml(spec, {{"input[0].batch.rest", "whole"},
                                          {"input[1].scale", "all"},
                                          {"input[1].scale.by", "long"},
                                          {"input[2].print", std::string(100, 'c')},
                                          {"input[1", "no path"},
                                          {"seed", "of all"}});
  const std::string end = text.substr(text.find("      kind"));
  EXPECT_TRUE(
      text.starts_with("input:\n  - batch:\n      size: 8\n      rest: true                                # whole\n"
                       "  - scale:                                      # all\n      # long\n      by: [12345, "))
      << text;
  EXPECT_EQ(end, cat("      kind: x\n  # ", std::string(100, 'c'),
                     "\n  - print: {}\nseed: 1                                         # of all\n"));
  EXPECT_EQ(to_yaml(parse_yaml(text, "f")), to_yaml(spec));
}

}  // namespace
}  // namespace millrace
