#include "millrace/cli/init/init_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/input/parquet/parquet_bytes.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

// The op of that kind in the configuration's input list.
Spec op_of(const Spec& config, const std::string& kind) {
  for (const Spec& op : config.find("input")->items()) {
    if (const Spec* options = op.find(kind)) return *options;
  }
  return Spec();
}

class ConfigTextTest : public ::testing::Test {
 protected:
  std::string text_for(const std::string& name, const std::string& bytes, const std::string& label = "y",
                       const std::string& task = "auto") {
    path_ = folder_.write(name, bytes);
    const DataLook look = look_at_data({.files = {path_}, .label = label});
    const InitPlan plan = plan_training({.look = look, .task = task});
    const ConfigText made =
        config_text({.look = look, .plan = plan, .save = folder_.path("m.safetensors"), .command = "trainer x"});
    by_number_ = made.by_number;
    return made.text;
  }
  static std::string table(const std::string& header, int rows, const std::function<std::string(int)>& row) {
    std::string out = header + '\n';
    for (int i = 0; i < rows; ++i) out += row(i) + '\n';
    return out;
  }
  static std::string wide_table(int columns, const std::string& name) {
    std::string header;
    for (int i = 0; i < columns; ++i) header += cat(name, i, ',');
    return table(header + 'y', 12, [&](int row) {
      std::string out;
      for (int i = 0; i < columns; ++i) out += cat((row + i) * 7919 % 997, ".125,");
      return out + cat(row % 2);
    });
  }
  TempFolder folder_;
  std::string path_;
  bool by_number_ = false;
};

TEST_F(ConfigTextTest, IsReadBackAndTrains) {
  const std::string text =
      text_for("a.csv", table("width,kind,y", 80, [](int i) {
                 return cat(i * 37 % 41, ".25,", i % 3 == 0 ? "oak" : "fir", ',', i % 41 > 20 ? "b" : "a");
               }));
  const Spec spec = parse_yaml(text, "c.yaml");
  const Config config = read_config(spec, Catalog::builtin());
  EXPECT_EQ(config.loss.kind, "sigmoid_cross_entropy");
  ASSERT_TRUE(config.validation);
  EXPECT_TRUE(config.validation->held_out);
  Trainer trainer = Trainer::from_spec(spec);
  EXPECT_TRUE(trainer.warnings().empty()) << trainer.warnings().front();
  EXPECT_GT(trainer.run().steps, 0);
}

// A file of lists, which are left out, and of the values of a CSV file.
TEST_F(ConfigTextTest, IsTheSameForParquet) {
  if (!Catalog::builtin().ops.entries().contains("parquet_reader")) GTEST_SKIP() << "parquet is not in this build";
  namespace parts = testing_support;
  constexpr int kRows = 60;
  constexpr int64_t kFirstDay = 19723;
  std::vector<double> widths;
  std::vector<std::string> kinds;
  std::vector<int32_t> days, labels;
  for (int i = 0; i < kRows; ++i) {
    widths.push_back(i * 37 % 41 / 4.0);
    kinds.emplace_back(i % 3 == 0 ? "oak" : "fir");
    days.push_back(static_cast<int32_t>(kFirstDay) + i);
    labels.push_back(3 + i % 3);
  }
  const std::string csv = table("width,kind,day,y", kRows, [&](int row) {
    const auto i = static_cast<size_t>(row);
    return cat(widths[i], ',', kinds[i], ',', TimeFormat(TimeFormat::Kind::date).write(86400.0 * days[i]), ',',
               labels[i]);
  });
  const std::string levels =
      parts::sized(parts::repeated_run(kRows, 0, 1)) + parts::sized(parts::repeated_run(kRows, 1, 1));
  const auto page = [](const std::string& body) { return parts::data_page({.entries = kRows, .body = body}); };
  const parts::FileParts file{
      .schema = {{.name = "width", .type = parts::kDouble},
                 {.name = "kind", .type = parts::kBytes, .converted = 0},
                 {.name = "day", .type = parts::kInt32, .converted = 6},
                 {.name = "y", .type = parts::kInt32},
                 {.name = "tags", .type = parts::kInt32, .repetition = 2}},
      .groups = {{.rows = kRows,
                  .chunks = {parts::plain_chunk(parts::kDouble, widths),
                             {parts::kBytes, kRows, page(parts::plain_texts(kinds))},
                             parts::plain_chunk(parts::kInt32, days),
                             parts::plain_chunk(parts::kInt32, labels),
                             {parts::kInt32, kRows, page(levels + parts::bytes_of_numbers(days))}}}}};
  const Spec from_csv = parse_yaml(text_for("a.csv", csv), "c.yaml");
  const std::string text = text_for("a.parquet", file.bytes());
  const Spec from_parquet = parse_yaml(text, "p.yaml");
  EXPECT_NE(text.find("# Left out: tags (it holds lists of int32)"), text.npos) << text;
  EXPECT_EQ(to_yaml(*op_of(from_parquet, "parquet_reader").find("fields")),
            to_yaml(*op_of(from_csv, "decode_csv").find("fields")));
  // What comes after the readers.
  const std::vector<Spec>& csv_ops = from_csv.find("input")->items();
  const std::vector<Spec>& ops = from_parquet.find("input")->items();
  ASSERT_EQ(ops.size() + 1, csv_ops.size());
  for (size_t i = 2; i < ops.size(); ++i) EXPECT_EQ(to_yaml(ops[i]), to_yaml(csv_ops[i + 1]));
  EXPECT_EQ(to_yaml(*from_parquet.find("model")), to_yaml(*from_csv.find("model")));
  Trainer trainer = Trainer::from_spec(from_parquet);
  EXPECT_TRUE(trainer.warnings().empty()) << trainer.warnings().front();
  EXPECT_GT(trainer.run().steps, 0);
}

// Nothing but a time, which init once could not read.
TEST_F(ConfigTextTest, ATimeIsEnoughToLearnFrom) {
  const std::string text = text_for("load.csv",
                                    table("time,load", 480,
                                          [](int i) {
                                            const int day = 1 + i / 24, hour = i % 24;
                                            return cat("2024-01-", day < 10 ? "0" : "", day, hour < 10 ? " 0" : " ",
                                                       hour, ":00:00,", 100 + (hour - 12) * (hour - 12), '.', i % 7);
                                          }),
                                    "load");
  const Spec spec = parse_yaml(text, "c.yaml");
  const Spec decode = op_of(spec, "decode_csv"), calendar = op_of(spec, "calendar");
  const Spec& field = *decode.find("fields")->find("time_seconds");
  EXPECT_EQ(field.find("type")->as_string(), "timestamp");
  EXPECT_EQ(field.find("format"), nullptr);
  EXPECT_EQ(field.find("default")->as_string(), "2024-01-10T23:30:00Z") << "the mean";
  EXPECT_EQ(calendar.find("field")->as_string(), "time_seconds");
  EXPECT_EQ(
      OptionType<std::vector<std::string>>::read(*calendar.find("features")),
      (std::vector<std::string>{"yearday_sin", "yearday_cos", "weekday_sin", "weekday_cos", "hour_sin", "hour_cos"}));
  EXPECT_NE(text.find("# missing values become the mean"), std::string::npos);
  EXPECT_EQ(spec.find("model")->items()[0].find("dense")->find("from")->as_string(), "time_calendar");
  Spec one_epoch = spec;
  apply_overrides(one_epoch, std::vector<std::string>{"input.filename_queue.epochs=1"});
  Trainer trainer = Trainer::from_spec(one_epoch);
  EXPECT_TRUE(trainer.warnings().empty()) << trainer.warnings().front();
  EXPECT_GT(trainer.run().steps, 0);
}

// Its odd texts are missing to the training, too.
TEST_F(ConfigTextTest, DatesWithAFewOddTextsTrain) {
  const std::string text = text_for("a.csv", table("sold,y", 100, [](int i) {
                                      if (i == 0) return std::string("2024-02-30,0");
                                      if (i == 50) return std::string("\" soon, or not\",1");
                                      return cat("2024-01-", 10 + i % 20, ',', i % 2);
                                    }));
  const Spec spec = parse_yaml(text, "c.yaml");
  const Spec decode = op_of(spec, "decode_csv");
  const Spec& marks = *decode.find("fields")->find("sold_seconds")->find("missing");
  const auto missing = OptionType<std::vector<std::string>>::read(marks);
  EXPECT_TRUE(std::ranges::count(missing, "2024-02-30") == 1 && std::ranges::count(missing, " soon, or not") == 1)
      << text;
  EXPECT_GT(Trainer::from_spec(spec).run().steps, 0);
}

TEST_F(ConfigTextTest, WhatIsNotCertainOfDatesIsSaidInAComment) {
  const std::string text = text_for(
      "a.csv", table("sold,x,y", 60, [](int i) { return cat(1 + i % 12, "/4/2024,", i * 7 % 31, ".5,", i % 2); }));
  EXPECT_NE(text.find("# Left out: sold (dates such as \"1/4/2024\", none of which tells whether the day or the month "
                      "comes first)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("calendar"), std::string::npos);
  const std::string certain = text_for(
      "b.csv", table("sold,x,y", 60, [](int i) { return cat(1 + i % 28, "/4/2024,", i * 7 % 31, ".5,", i % 2); }));
  EXPECT_NE(certain.find("format: \"%d/%m/%Y\""), std::string::npos) << certain;
  EXPECT_GT(Trainer::from_spec(parse_yaml(certain, "c.yaml")).run().steps, 0);
}

TEST_F(ConfigTextTest, LayersHaveNames) {
  const std::string text = text_for("a.csv", table("x,z,y", 2000, [](int i) {
                                      return cat(i * 7 % 13, ".5,", i % 3 == 0 ? "oak" : "fir", ',', i % 2);
                                    }));
  const std::vector<std::string> settings = {"model.hidden_1.units=5", "model.hidden_2.activation=tanh",
                                             "model.output.bias=false"};
  Spec spec = parse_yaml(text, "c.yaml");
  apply_overrides(spec, settings);
  Trainer trainer = Trainer::from_spec(spec);
  EXPECT_EQ(trainer.model().parameters()[0].name, "hidden_1.weight");
  EXPECT_EQ(trainer.model().parameters()[0].shape.text(), "(5, 4)");
  EXPECT_EQ(trainer.model().parameters().back().name, "output.weight");
}

TEST_F(ConfigTextTest, ForNumbersAndCodes) {
  const std::string prices =
      text_for("a.csv", table("x,y", 60, [](int i) { return cat(i * 7 % 13, ',', i * 31 % 57, ".5"); }));
  EXPECT_NE(prices.find("loss: mse"), std::string::npos);
  EXPECT_NE(prices.find("- normalize: {fields: label, mean: ["), std::string::npos);
  const std::string codes = text_for("a.csv", table("x,y", 60, [](int i) { return cat(i * 7 % 13, ',', i % 4); }));
  EXPECT_NE(codes.find("type: int32"), std::string::npos);
  EXPECT_EQ(codes.find("vocabulary"), std::string::npos);
  EXPECT_NE(codes.find("- dense: {name: output, units: 4}"), std::string::npos);
}

TEST_F(ConfigTextTest, TextsOfTheDataCannotBreakOutOfTheirPlace) {
  const std::string evil = "# no\n- x: {y: [1]}\r\x1b[31m\xe2\x80\xae\xc2\x85";
  const std::string text =
      text_for("- a #\n: [1] \xe2\x80\xae.csv", table(cat("\"", evil, "\",\"b: c\",\"#d\",y"), 60, [&](int i) {
                 return cat(i * 7 % 13, ".5,", i * 3 % 7, ".5,\"", i % 3 == 0 ? evil : std::string("- ?"), "\",\"",
                            i % 2 == 0 ? cat("{a: ", evil) : std::string("null#"), '"');
               }));
  Trainer trainer = Trainer::from_spec(parse_yaml(text, "c.yaml"));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    for (const char c : text.substr(begin, end - begin)) EXPECT_GE(static_cast<unsigned char>(c), ' ');
    begin = end + 1;
  }
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x85"), std::string::npos);
  EXPECT_EQ(trainer.input().files().read, std::vector<std::string>{path_});
}

TEST_F(ConfigTextTest, ColumnsWithoutANameOfTheirOwnAreNumbers) {
  const std::string text = text_for("a.csv", table("a,a,,5,1,y", 60, [](int i) {
                                      return cat(i * 7 % 13, ".5,", i * 5 % 11, ".5,", i * 3 % 17, ".5,", i * 2 % 19,
                                                 ".5,", i % 23, ".5,", i % 2);
                                    }));
  EXPECT_NE(text.find("columns: [0, 1, 2, \"5\", \"1\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("      names: {0: a, 1: a, 2: \"\"}  "), std::string::npos) << text;
  const std::string bare = text_for(
      "b.csv", table("1.5,2.5,0", 60, [](int i) { return cat(i * 7 % 13, ".5,", i * 5 % 11, ".5,", i % 2); }), "2");
  EXPECT_NE(bare.find("columns: 0-1"), std::string::npos) << bare;
}

TEST_F(ConfigTextTest, NamesThatYamlCannotHoldAreNumbers) {
  const std::string text = text_for("a.csv",
                                    table(cat("K\xf6ln,", std::string(2000, 'x'), ",b,\xfe"), 60,
                                          [](int i) { return cat(i * 7 % 13, ',', i % 5, ".5,", i % 3, ',', i % 2); }),
                                    "3");
  EXPECT_NE(text.find("columns: [0, 1, b]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("columns: 3\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("names:"), std::string::npos);
  Trainer::from_spec(parse_yaml(text, "c.yaml"));
}

TEST_F(ConfigTextTest, NamesClassesThatDifferInLittle) {
  const std::string text =
      text_for("a.csv", table("x,y", 60, [](int i) { return cat(i * 7 % 13, i % 2 == 0 ? ",Yes" : ",yes"); }));
  EXPECT_NE(text.find("\n# Of its classes \"Yes\" and \"yes\" differ only in letter case or blanks, and stay apart.\n"),
            std::string::npos)
      << text;
}

TEST_F(ConfigTextTest, ColumnsAreNumbersWhereTheirNamesWouldTakeTooMuch) {
  const std::string text = text_for("a.csv", wide_table(6000, std::string(200, 'g')));
  EXPECT_TRUE(by_number_);
  EXPECT_NE(text.find("columns: 0-5999\n"), std::string::npos);
  EXPECT_NE(text.find("# by number, as names are too long: other files need the same columns at the same places"),
            std::string::npos);
  EXPECT_EQ(text.find("names:"), std::string::npos);
  Trainer::from_spec(parse_yaml(text, "c.yaml"));
  EXPECT_NE(text_for("b.csv", wide_table(100, std::string(200, 'g'))).find("ggg"), std::string::npos);
  EXPECT_FALSE(by_number_);
}

TEST_F(ConfigTextTest, WhatAModelFileCouldNotKeepIsRefused) {
  const std::string text = wide_table(50000, "g");
  const std::string error = error_of<DataError>([&] { text_for("a.csv", text); });
  EXPECT_TRUE(error.starts_with("the configuration for 50001 columns would take ")) << error;
  EXPECT_TRUE(error.ends_with("bytes, at most 1048576 are allowed; leave columns out with --ignore")) << error;
}

TEST_F(ConfigTextTest, SaysWhenConstantsComeFromAPart) {
  path_ = folder_.write("a.csv", table("x,y", 5000, [](int i) { return cat(i * 7 % 13, ".5,", i % 2); }));
  const DataLook look = look_at_data({.files = {path_}, .label = "y", .most_bytes = 5000});
  const InitPlan plan = plan_training({.look = look});
  const std::string text = config_text({.look = look, .plan = plan, .save = "m", .command = "c"}).text;
  EXPECT_NE(text.find("a part of the data"), std::string::npos);
  EXPECT_NE(text.find("of the rows that init looked at"), std::string::npos);
}

TEST(CommentTextTest, IsOneShortLine) {
  EXPECT_EQ(comment_text("a\nb\x1b\xe2\x80\xae"), "a\\nb\\x1b\\xe2\\x80\\xae");
  EXPECT_EQ(comment_text("K\xc3\xb6ln and more", 3), "K\xc3\xb6..");
}

}  // namespace
}  // namespace millrace::cli
