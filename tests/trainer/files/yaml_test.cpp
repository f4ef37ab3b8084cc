#include "millrace/trainer/files/yaml.h"

#include <random>

#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::string rejects(std::string_view text) {
  return error_of<ConfigError>([&] { parse_yaml(text, "f.yaml"); });
}

TEST(Yaml, KeepsTextsQuotingAndOrder) {
  const Spec spec = parse_yaml("b: 1\na: \"1\"\nc: [x, 'y', ~]\nd:\ne: {}\nf: |\n  one\n  two\n", "f.yaml");
  std::string keys;
  for (const auto& [key, value] : spec.entries()) keys += key;
  EXPECT_EQ(keys, "bacdef");
  EXPECT_EQ(spec.find("b")->as_int(), 1);
  EXPECT_FALSE(spec.find("b")->quoted());
  EXPECT_TRUE(spec.find("a")->quoted());
  ASSERT_EQ(spec.find("c")->size(), 3u);
  EXPECT_FALSE(spec.find("c")->items()[0].quoted());
  EXPECT_TRUE(spec.find("c")->items()[1].quoted());
  EXPECT_TRUE(spec.find("c")->items()[2].is_null());
  EXPECT_TRUE(spec.find("d")->is_null());
  EXPECT_TRUE(spec.find("e")->is_map());
  EXPECT_EQ(spec.find("f")->as_string(), "one\ntwo\n");
}

TEST(Yaml, PlacesAreOneBasedAndPathsAreSet) {
  const Spec spec = parse_yaml("seed: 23\ninput:\n  - batch: {batch_size: 5}\n  - x:\n", "dir/f.yaml");
  EXPECT_EQ(spec.find("seed")->place(), (Place{"dir/f.yaml", 1, 7}));
  EXPECT_EQ(spec.find("seed")->key_place(), (Place{"dir/f.yaml", 1, 1}));
  const Spec& item = spec.find("input")->items()[0];
  EXPECT_EQ(item.place().text(), "dir/f.yaml:3:5");
  const Spec& size = *item.find("batch")->find("batch_size");
  EXPECT_EQ(size.path(), "input[0].batch.batch_size");
  EXPECT_EQ(size.key_place().text(), "dir/f.yaml:3:13");
  EXPECT_EQ(size.place().text(), "dir/f.yaml:3:25");
  // A key without value is placed where the key is, not at what comes next.
  EXPECT_EQ(spec.find("input")->items()[1].find("x")->place().text(), "dir/f.yaml:4:5");
}

TEST(Yaml, AcceptsByteOrderMarkCrLfAndOneExplicitDocument) {
  EXPECT_EQ(parse_yaml("\xef\xbb\xbf"
                       "a: 1\r\nb: 2\r\n",
                       "f")
                .find("b")
                ->place()
                .text(),
            "f:2:4");
  EXPECT_EQ(parse_yaml("---\na: 1\n...\n", "f").find("a")->as_int(), 1);
  EXPECT_TRUE(parse_yaml("", "f").is_null());
  EXPECT_TRUE(parse_yaml("# nothing\n", "f").is_null());
}

TEST(Yaml, DuplicateKeysNameBothPlaces) {
  EXPECT_EQ(rejects("train:\n  steps: 1\n  \"steps\": 2\n"),
            "f.yaml:3:3: duplicate key steps; it is already written at f.yaml:2:3; keep one of the two");
  EXPECT_EQ(parse_yaml("a: {x: 1}\nb: {x: 1}", "f").size(), 2u);
}

TEST(Yaml, RefusesWhatExpandsOrRetypes) {
  EXPECT_EQ(rejects("a: &x 1"),
            "f.yaml:1:4: anchors (&name) are not supported; put a text that begins with & into quotes");
  EXPECT_EQ(rejects("a: *x"),
            "f.yaml:1:4: aliases (*name) are not supported; put a text that begins with * into quotes");
  EXPECT_EQ(rejects("files: *.csv"),
            "f.yaml:1:8: aliases (*name) are not supported; put a text that begins with * into quotes");
  EXPECT_EQ(rejects("&x\n- *x"),
            "f.yaml:1:1: anchors (&name) are not supported; put a text that begins with & into quotes");
  EXPECT_EQ(rejects("a: !!str 5"),
            "f.yaml:1:4: tags (!name) are not supported; put a text that begins with ! into quotes");
}

TEST(Yaml, RefusesASecondDocument) {
  EXPECT_EQ(rejects("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: expected one document, got a second one; remove what follows the first document");
}

TEST(Yaml, KeysAreTexts) {
  EXPECT_EQ(rejects("? [a]\n: 1"),
            "f.yaml:1:3: expected a text as key, got a list; check that every { and [ is closed");
  EXPECT_EQ(rejects("~: 1"), "f.yaml:1:1: expected a key, got nothing");
  EXPECT_EQ(rejects("\"" + std::string(257, 'k') + "\": 1"),
            "f.yaml:1:1: expected a key of at most 256 bytes, got one of 257");
}

TEST(Yaml, RefusesBytesThatAreNoText) {
  EXPECT_EQ(rejects(std::string_view("a: 1\nb: \0", 9)),
            "f.yaml:2:4: expected text, got the control character \"\\x00\"; the file must be UTF-8 text");
  EXPECT_EQ(rejects("a: \x1b[0m"),
            "f.yaml:1:4: expected text, got the control character \"\\x1b\"; inside double quotes it may be written "
            "\"\\x1b\"");
  EXPECT_EQ(
      rejects("a: 1\rb: 2"),
      "f.yaml:1:5: expected text, got the control character \"\\r\"; inside double quotes it may be written \"\\r\"");
  EXPECT_EQ(rejects("a: caf\xe9"),
            "f.yaml:1:7: expected UTF-8 text, got a byte that is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(rejects("a: \"\\0\""), "f.yaml:1:4: a text may not hold a NUL character");
  EXPECT_EQ(rejects(std::string(kMaxYamlBytes + 1, ' ')),
            "f.yaml: expected at most 1048576 bytes of configuration, got more");
}

TEST(Yaml, SyntaxErrorsHavePlacesAndHints) {
  EXPECT_EQ(rejects("a:\n\tb: 1"), "f.yaml:2:3: not valid YAML: illegal map value; indent with blanks, not with tabs");
  EXPECT_EQ(rejects("a: b: c"),
            "f.yaml:1:5: not valid YAML: illegal map value; check the indentation, and put texts that hold \": \" into "
            "quotes");
  EXPECT_EQ(rejects("a: \"x"), "f.yaml:1:6: not valid YAML: illegal EOF in scalar; a quote is not closed");
  EXPECT_EQ(rejects("a: [1\nb: 2"),
            "f.yaml:2:2: not valid YAML: end of sequence flow not found; check that every [ is closed and that commas "
            "stand between the items");
  EXPECT_EQ(rejects("a: @x"),
            "f.yaml:1:4: not valid YAML: unknown token; put a text that begins with @, ` or % into quotes");
}

TEST(Yaml, AQuoteThatIsNeverClosedIsAnError) {
  const std::string message = "the text that begins with this quote has no end; add a closing ";
  EXPECT_EQ(rejects("save: \"model\nseed: 1\n"), "f.yaml:1:7: " + message + "\"");
  EXPECT_EQ(rejects("a: 1\r\nsave: 'model\r\nseed: 1\r\n"), "f.yaml:2:7: " + message + "'");
  EXPECT_EQ(rejects("- \"a\\\"\nb\n"), "f.yaml:1:3: " + message + "\"");
  EXPECT_EQ(rejects("'it''s\n"), "f.yaml:1:1: " + message + "'");
  EXPECT_EQ(parse_yaml("a: \"b\n  c\\\"\"\n'd': \"'\"", "f").find("a")->as_string(), "b c\"");
}

TEST(Yaml, DepthIsBounded) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_yaml(nested(kMaxYamlDepth), "f").is_list());
  EXPECT_EQ(rejects(nested(kMaxYamlDepth + 1)), "f.yaml:1:65: lists and maps are nested more than 64 levels deep");
}

TEST(Yaml, OverridesHaveOnePlace) {
  const Place where{"--set a={b: 1}", 0, 0};
  const Spec value = parse_yaml_value("{b: [1, 2]}", where);
  EXPECT_EQ(value.find("b")->items()[1].place(), where);
  EXPECT_EQ(value.find("b")->key_place(), where);
  EXPECT_EQ(error_of<ConfigError>([&] { parse_yaml_value("[1", where); }),
            "--set a={b: 1}: expected a text as key, got a list; check that every { and [ is closed");
}

TEST(Yaml, ReadsFiles) {
  const TempFolder folder;
  const std::string path = folder.write("f.yaml", "a: 1\n");
  EXPECT_EQ(read_yaml_file(path).find("a")->place().text(), path + ":1:4");
  EXPECT_THROW(read_yaml_file(folder.path("g.yaml")), MissingError);
  const std::string large = folder.write("large.yaml", "a: 1\n" + std::string(kMaxYamlBytes, ' '));
  EXPECT_EQ(error_of<ConfigError>([&] { read_yaml_file(large); }),
            large + ": expected at most 1048576 bytes of configuration, got more");
  const std::string model = folder.write("m.yaml", std::string("\x20\0\0\0\0\0\0\0", 8) + "{\"__metadata__\":{}}");
  EXPECT_EQ(error_of<ConfigError>([&] { read_yaml_file(model); }),
            model +
                ": expected a configuration, got a model file; trainer evaluate and trainer predict use it; the "
                "key load of a configuration trains it on");
}

// Inputs that made YAML readers hang, overflow the stack or expand without bound: an answer or an error, soon.
TEST(Yaml, HostileInputsEnd) {
  constexpr size_t kBytes = kMaxYamlBytes / 4;
  for (const std::string unit :
       {"[", "{",      "- ", "? ",  "a: ",   "{a: ",    "[a, ", "&a ", "! ", "---\n", "# x\n", ":",   ",", "!",
        "%", "%a b\n", "a ", "a\n", "[a]: ", "\"a\": ", "[]",   "]",   "'",  "\t",    "-\n",   "|\n", ">"}) {
    std::string text;
    while (text.size() + unit.size() <= kBytes) text += unit;
    try {
      parse_yaml(text, "f");
    } catch (const ConfigError&) {
    }
  }
}

// Mutations of a good file: every one is a Spec or a ConfigError with a place.
TEST(Yaml, MutatedInputsAreSpecsOrErrors) {
  const std::string good =
      "seed: 23\ninput:\n  - filename_queue: {files: \"data/*.csv\", shuffle: true}\n  - batch:\n      batch_size: 5\n"
      "model:\n  - dense: {units: 1, 'name': x}\nloss: >\n  text\nlist: [1, -2.5, ~, !a b, &c d, *c]\n";
  const std::string alphabet = "{}[],:-?&*!|>%@`'\"#\n\t \\ab1~\r<=.\xc3\x80\xff";
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (int round = 0; round < 10'000; ++round) {
    std::string text = good;
    for (size_t changes = 1 + below(6); changes > 0; --changes) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.insert(at, 1, alphabet[below(alphabet.size())]); break;
        case 2: text.erase(at, 1 + below(5)); break;
        default: text.insert(at, text.substr(below(text.size()), below(20))); break;
      }
    }
    try {
      parse_yaml(text, "f");
    } catch (const ConfigError& error) {
      ASSERT_EQ(error.place().file, "f") << text;
    }
  }
}

}  // namespace
}  // namespace millrace
