#include "millrace/cli/init/plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "millrace/core/text.h"
#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;

class PlanTest : public ::testing::Test {
 protected:
  InitPlan plan(const std::string& text, std::vector<std::string> ignore = {}, std::vector<std::string> keep = {}) {
    files_.files["a.csv"] = text;
    const DataLook look = look_at_data({.files = {"a.csv"}, .label = "y", .file_system = &files_});
    return plan_training({.look = look, .ignore = std::move(ignore), .keep = std::move(keep)});
  }
  // Header and rows: a cell "i*7" is a number that differs from row to row, others come as they are.
  static std::string table(const std::string& header, int rows, const std::function<std::string(int)>& row) {
    std::string out = header + '\n';
    for (int i = 0; i < rows; ++i) out += row(i) + '\n';
    return out;
  }
  MemoryFiles files_;
};

std::string number(int i) { return cat(i * 7919 % 997, ".5"); }

TEST_F(PlanTest, JoinsColumnsThatAreReadAlike) {
  const InitPlan made = plan(table("a,b,temp,time,c,d,e,y", 200, [](int i) {
    return cat(number(i), ',', number(i + 1), ',', i % 20 == 0 ? "-999" : number(i), ',', 1700000000 + i * 13 % 97, ',',
               i % 3 == 0 ? "yes" : "no", ',', i % 5 == 0 ? "yes" : "no", ',', i % 2 == 0 ? "red" : "blue", ',', i % 2);
  }));
  ASSERT_EQ(made.fields.size(), 5u);
  EXPECT_EQ(made.fields[0].read_as, "numbers");
  EXPECT_EQ(made.fields[0].columns, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(made.fields[1].marks, std::vector<std::string>{"-999"});
  EXPECT_TRUE(made.fields[2].found.wide);
  EXPECT_EQ(made.fields[3].columns, (std::vector<size_t>{4, 5}));
  EXPECT_EQ(made.fields[3].read_as, "c_and_others_text");
  EXPECT_EQ(made.fields[4].found.field, "e_class");
  EXPECT_EQ(made.width, 4 + 2 * 3 + 3);
  EXPECT_EQ(made.outputs, 1);
  EXPECT_EQ(made.missing_columns, 1u);
}

TEST_F(PlanTest, NoNumberIsManyDeviationsFromTheMean) {
  const InitPlan made =
      plan(table("a,flag,y", 400, [](int i) { return cat(number(i), i == 7 ? ",1," : ",0,", i % 2); }));
  ASSERT_EQ(made.fields.size(), 1u);
  const std::vector<Spec>& spread = made.fields[0].found.deviation.items();
  EXPECT_NEAR(spread[0].as_double(), 288, 5) << "the deviation";
  EXPECT_NEAR(spread[1].as_double(), (1 - 1.0 / 400) / 10, 1e-6) << "one that is 0.05";
}

TEST_F(PlanTest, IgnoresAndKeepsWhatTheUserNames) {
  const std::string text = table("n,a,y", 100, [](int i) { return cat(i, ',', number(i), ',', i % 3); });
  const InitPlan made = plan(text);
  ASSERT_EQ(made.left_out.size(), 1u);
  EXPECT_EQ(made.left_out[0].text, "it counts the rows");
  EXPECT_EQ(made.outputs, 3);
  EXPECT_TRUE(plan(text, {}, {"n"}).left_out.empty());
  EXPECT_EQ(plan(text, {"a"}, {"n"}).left_out[0].text, "--ignore");
  EXPECT_EQ(error_of<ConfigError>([&] { plan(text, {"y"}); }), "--ignore \"y\": this is the label");
  EXPECT_EQ(error_of<ConfigError>([&] { plan(text, {"a"}, {"a"}); }), "--keep \"a\": --ignore names it, too");
  EXPECT_EQ(error_of<DataError>([&] { plan(text, {"a"}); }),
            "a.csv: no column besides the label is left to learn from; \"n\": it counts the rows; \"a\": --ignore; "
            "--keep COLUMN keeps one that holds numbers or few texts");
}

TEST_F(PlanTest, SizesFollowTheNumberOfRows) {
  const auto sized = [&](int rows) {
    return plan(table("a,y", rows, [](int i) { return cat(number(i), ',', i % 2); }));
  };
  const InitPlan few = sized(20), some = sized(500), many = sized(20000);
  EXPECT_EQ(few.held_out, 0);
  EXPECT_EQ(few.batch_size, 8);
  EXPECT_EQ(some.held_out, 0.2);
  EXPECT_EQ(some.hidden, std::vector<int64_t>{16});
  EXPECT_EQ(many.hidden, (std::vector<int64_t>{32, 32}));
  EXPECT_EQ(many.batch_size, 256);
  EXPECT_LT(few.epochs, 101);
  EXPECT_GE(many.epochs, 3);
  EXPECT_EQ(some.max_bad_rows, 0);
  EXPECT_EQ(some.learning_rate, 0.003);
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += cat('c', i, ',');
  EXPECT_EQ(plan(table(wide + 'y', 90,
                       [](int row) {
                         std::string out;
                         for (int i = 0; i < 100; ++i) out += number(row + i) + ',';
                         return out + cat(row % 2);
                       }))
                .learning_rate,
            0.0003);
}

// A best model can be found, and a training that gets no better can end, in a run of one epoch as in one of many.
TEST_F(PlanTest, EveryRunHasSeveralValidations) {
  files_.files["a.csv"] = table("a,y", 20000, [](int i) { return cat(number(i), ',', i % 2); });
  DataLook look = look_at_data({.files = {"a.csv"}, .label = "y", .file_system = &files_});
  look.whole = false;
  const uint64_t seen = look.bytes;
  std::vector<int64_t> epochs;
  for (const uint64_t times : {1u, 3u, 20u, 150u}) {
    look.all_bytes = times * seen;
    const InitPlan made = plan_training({.look = look});
    const int64_t validations = made.epochs * made.steps_per_epoch / made.validate_every;
    EXPECT_GE(validations, 5) << made.epochs << " epochs";
    EXPECT_LE(validations, 60) << made.epochs << " epochs";
    EXPECT_GE(made.patience, 3);
    EXPECT_LT(made.patience, validations) << made.epochs << " epochs";
    epochs.push_back(made.epochs);
  }
  EXPECT_GT(epochs.front(), 30);
  EXPECT_EQ(epochs.back(), 1);
}

TEST_F(PlanTest, SaysWhichColumnsNewDataNeedAtTheSamePlace) {
  const InitPlan made = plan(table("a,a,,b,y", 100, [](int i) {
    return cat(number(i), ',', number(i + 3), ',', number(i + 5), ',', number(i + 7), ',', i % 2);
  }));
  ASSERT_EQ(made.notes.size(), 3u);
  EXPECT_EQ(made.notes[2].column, 2u);
  EXPECT_EQ(made.notes[2].text, "selected by its number, so new data need it there, too");
  const InitPlan latin = plan(table("K\xf6ln,b,y", 100, [](int i) { return cat(number(i), ',', i % 7, ',', i % 2); }));
  ASSERT_EQ(latin.notes.size(), 1u) << "a name that no configuration can hold";
  EXPECT_EQ(latin.notes[0].column, 0u);
}

TEST_F(PlanTest, BadRowsHaveALimitForAllEpochs) {
  const InitPlan made = plan(table("a,y", 200, [](int i) { return i == 77 ? "1" : cat(number(i), ',', i % 2); }));
  EXPECT_EQ(made.max_bad_rows, 10 + 2 * made.epochs);
}

TEST_F(PlanTest, NamesOfFieldsAreTheirOwn) {
  const InitPlan made =
      plan(table("label,Stra\xc3\x9f"
                 "e!,stra_e,1st,y",
                 100, [](int i) {
                   return cat(i % 2 ? "a" : "b", ',', i % 3 ? "c" : "d", ',', i % 3 ? "e" : "f", ',', i % 5 ? "g" : "h",
                              ',', i % 2);
                 }));
  std::vector<std::string> fields;
  for (const PlannedField& field : made.fields) fields.push_back(field.read_as);
  EXPECT_EQ(fields, (std::vector<std::string>{"label_2_text", "stra_e_text", "stra_e_2_text", "c1st_text"}));
}

TEST_F(PlanTest, WideNumbersNeedMoreThanFloat32) {
  const auto is_wide = [&](const std::string& before) {
    return plan(table("a,y", 100, [&](int i) { return cat(before, i % 7, i % 2 ? ",a" : ",b"); })).fields[0].found.wide;
  };
  EXPECT_FALSE(is_wide("1"));
  EXPECT_TRUE(is_wide("170000000"));
}

TEST_F(PlanTest, DatesAreFieldsOfTheirOwn) {
  const auto date = [](int i, int year) {
    return cat(year, i % 12 < 9 ? "-0" : "-", 1 + i % 12, i % 2 == 0 ? "-05" : "-23");
  };
  const InitPlan made = plan(table("a,sold,bought,at,y", 200, [&](int i) {
    return cat(number(i), ',', date(i, 2020 + i % 4), ',', i % 9 == 0 ? "" : date(i, 2024), ',', 1 + i % 28,
               "/12/2024 ", i % 24, ":00,", i % 2);
  }));
  ASSERT_EQ(made.fields.size(), 4u);
  const PlannedField &sold = made.fields[1], &bought = made.fields[2], &at = made.fields[3];
  EXPECT_EQ(sold.read_as, "sold_seconds");
  EXPECT_EQ(sold.columns, std::vector<size_t>{1});
  EXPECT_EQ(sold.ops[0].kind, "decode_csv");
  EXPECT_EQ(sold.ops[0].options.find("type")->as_string(), "date");
  EXPECT_EQ(sold.ops[1].kind, "calendar");
  EXPECT_EQ(sold.ops[1].options.find("features")->size(), 5u) << "year, yearday and weekday";
  EXPECT_EQ(sold.ops[2].kind, "normalize");
  EXPECT_EQ(sold.found.field, "sold_calendar");
  EXPECT_EQ(bought.ops.size(), 2u) << "all in one year";
  EXPECT_EQ(bought.ops[1].options.find("features")->size(), 4u);
  EXPECT_EQ(at.ops[0].options.find("format")->as_string(), "%d/%m/%Y %H:%M");
  EXPECT_EQ(at.ops[1].options.find("features")->size(), 6u);
  EXPECT_EQ(made.width, 1 + 5 + 4 + 6);
  EXPECT_EQ(made.missing_columns, 1u);
  EXPECT_TRUE(made.left_out.empty());
}

// As another kind would say it that turns many texts into numbers.
struct Lengths {
  static std::optional<Spec> suit(FoundField& field) {
    if (!field.has(FoundField::Holds::texts) || field.label) return {};
    const std::string texts = std::exchange(field.field, field.about + "_length");
    field.holds = FoundField::Holds::amounts;
    field.scaled = true;
    return Spec::map({{"of", texts}, {"as", field.field}});
  }
};

TEST_F(PlanTest, AsksEveryKindOfTheCatalogWhetherItSuits) {
  files_.files["a.csv"] =
      table("a,soil,y", 100, [](int i) { return cat(number(i), ',', i % 3 == 0 ? "clay" : "sand", ',', i % 4); });
  const DataLook look = look_at_data({.files = {"a.csv"}, .label = "y", .file_system = &files_});
  const auto ops = [](const PlannedField& field) {
    std::string out;
    for (const ChosenOp& op : field.ops) out += op.kind + ' ';
    return out;
  };
  const InitPlan made = plan_training({.look = look});
  EXPECT_EQ(ops(made.fields[0]), "decode_csv normalize ");
  EXPECT_EQ(ops(made.fields[1]), "decode_csv vocabulary one_hot ");
  EXPECT_EQ(ops(made.label_field), "decode_csv ");
  EXPECT_EQ(made.loss, "softmax_cross_entropy");
  EXPECT_EQ(made.metrics, std::vector<std::string>{"accuracy"});
  Catalog catalog = Catalog::builtin();
  OpRegistry::Entry entry = catalog.ops.entries().at("map");
  entry.suit = Lengths::suit;
  catalog.add_op("lengths", entry);
  const InitPlan other = plan_training({.look = look, .catalog = catalog});
  EXPECT_EQ(ops(other.fields[1]), "decode_csv lengths ");
  EXPECT_EQ(other.width, 2);
}

TEST_F(PlanTest, TheLabelDecidesWhatTheModelIsJudgedBy) {
  const auto judged = [&](const std::function<std::string(int)>& label) {
    const InitPlan made = plan(table("a,y", 100, [&](int i) { return cat(number(i), ',', label(i)); }));
    return cat(made.loss, ' ', join(made.metrics));
  };
  EXPECT_EQ(judged([](int i) { return cat(i % 2); }), "sigmoid_cross_entropy accuracy and auc");
  EXPECT_EQ(judged([](int i) { return i % 3 == 0 ? "p" : i % 3 == 1 ? "q" : "r"; }), "softmax_cross_entropy accuracy");
  EXPECT_EQ(judged([](int i) { return cat(i * 31 % 57, ".5"); }), "mse mae and r2");
}

}  // namespace
}  // namespace millrace
