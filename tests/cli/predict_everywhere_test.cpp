// Rows get the same answers from C, from C++ and from the command line, whatever model `trainer init` made of their
// table.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/c.h"
#include "millrace/core/text.h"
#include "millrace/trainer/predict/network.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using nlohmann::json;

using Cells = std::vector<std::string>;

// Rows as a program has them: a name for each column, and the texts of its cells.
struct Table {
  Cells names;
  std::vector<Cells> rows;

  std::string csv() const {
    std::string out;
    const auto add = [&](const Cells& cells) {
      for (size_t i = 0; i < cells.size(); ++i) {
        std::string cell = cells[i];
        for (size_t at = 0; (at = cell.find('"', at)) != cell.npos; at += 2) cell.insert(at, 1, '"');
        out += cat(i == 0 ? "" : ",", '"', cell, '"');
      }
      out += '\n';
    };
    add(names);
    for (const Cells& row : rows) add(row);
    return out;
  }
};

// Of text without quotes.
Table table_of(const std::string& csv) {
  Table out;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    Cells cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    (out.names.empty() ? out.names : out.rows.emplace_back()) = cells;
  }
  return out;
}

// A cell that holds no number is a missing value.
double number_of(const std::string& cell) {
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = fault == std::errc() && end == cell.data() + cell.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

class PredictEverywhereTest : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& words) { return run_trainer(words, {.folder = folder_.path()}); }

  // Makes m.safetensors of the rows of `data`.
  void train(const std::string& data, const std::string& label, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"init", data, "--label", label, "--out", "m.yaml", "--force"});
    const CommandResult made = run(more);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const CommandResult trained = run({"--config", "m.yaml", "--quiet", "--set", "device=cpu", "--set",
                                       "input.filename_queue.epochs=2", "--save", "m.safetensors"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }

  // A line of `trainer predict` for each row.
  std::vector<json> lines(const Table& table, const std::string& more) {
    folder_.write("new.csv", table.csv());
    std::vector<std::string> words = {"predict",    "--model", "m.safetensors",
                                      "--data",     "new.csv", "--set",
                                      "device=cpu", "--set",   "input.shuffle_batch.batch_size=1",
                                      "--format",   "jsonl"};
    if (!more.empty()) words.push_back(more);
    const CommandResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<json> out;
    std::istringstream in(result.out);
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
    EXPECT_EQ(out.size(), table.rows.size());
    return out;
  }

  // The columns that a field is made of, by the model's configuration.
  static std::vector<size_t> columns_of(const Network& network, const std::string& field, const Table& table) {
    std::vector<size_t> out;
    for (const Spec& item : network.resolved().find("input")->items()) {
      if (item.entries()[0].first != "decode_csv") continue;
      const Spec& columns = *item.entries()[0].second.find("fields")->find(field)->find("columns");
      for (const Spec& column : columns.is_list() ? columns.items() : std::vector<Spec>{columns}) {
        const auto found = std::find(table.names.begin(), table.names.end(), column.as_string());
        out.push_back(static_cast<size_t>(found - table.names.begin()));
      }
    }
    return out;
  }

  struct Prediction {
    std::vector<float> outputs;
    std::vector<int64_t> classes;
    std::vector<double> values;
    std::vector<std::string> names;  // of the classes
  };

  static Prediction from_cpp(const Network& network, const Table& table, size_t row) {
    RowBlock rows = network.make_rows(1);
    for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
      const FieldSpec& field = rows.spec().fields[i];
      const std::vector<size_t> columns = columns_of(network, field.name, table);
      for (size_t element = 0; element < columns.size(); ++element) {
        const std::string& cell = table.rows[row][columns[element]];
        if (field.text) {
          rows.add_text(i, 0, cell);
        } else if (field.dtype == DType::f64) {
          rows.row<double>(i, 0)[element] = number_of(cell);
        } else {
          EXPECT_EQ(field.dtype, DType::f32);
          rows.row<float>(i, 0)[element] = static_cast<float>(number_of(cell));
        }
      }
    }
    Prediction out;
    out.outputs.resize(static_cast<size_t>(network.output().shape.elements()));
    network.predict(rows, out.outputs);
    const Answer answer = network.answer(out.outputs);
    out.classes = answer.classes;
    out.values = answer.values;
    out.names = answer.texts;
    return out;
  }

  // Of some rows in one call. `network` tells what the fields are.
  static std::vector<Prediction> from_c(const millrace_network* c, const Network& network, const Table& table,
                                        size_t begin, size_t count) {
    const size_t fields = millrace_network_field_count(c);
    std::vector<std::vector<float>> floats(fields);
    std::vector<std::vector<double>> doubles(fields);
    std::vector<std::vector<const char*>> texts(fields);
    std::vector<const void*> values;
    for (size_t i = 0; i < fields; ++i) {
      const millrace_field field = millrace_network_field(c, i);
      const std::vector<size_t> columns = columns_of(network, field.name, table);
      EXPECT_EQ(field.width, std::ssize(columns)) << field.name;
      for (size_t row = begin; row < begin + count; ++row) {
        for (const size_t column : columns) {
          const std::string& cell = table.rows[row][column];
          texts[i].push_back(cell.empty() ? nullptr : cell.c_str());
          doubles[i].push_back(number_of(cell));
          floats[i].push_back(static_cast<float>(number_of(cell)));
        }
      }
      values.push_back(field.type == MILLRACE_TEXT      ? static_cast<const void*>(texts[i].data())
                       : field.type == MILLRACE_FLOAT64 ? static_cast<const void*>(doubles[i].data())
                                                        : static_cast<const void*>(floats[i].data()));
    }
    const auto width = static_cast<size_t>(millrace_network_outputs(c));
    const auto choices = static_cast<size_t>(millrace_network_choices(c));
    std::vector<float> outputs(count * width);
    std::vector<int64_t> classes(count * choices);
    std::vector<double> answers(count * width);
    const auto rows = static_cast<int64_t>(count);
    EXPECT_EQ(millrace_network_predict(c, values.data(), rows, outputs.data(), nullptr), MILLRACE_OK);
    EXPECT_EQ(millrace_network_answer(c, outputs.data(), rows, classes.data(), answers.data(), nullptr), MILLRACE_OK);
    std::vector<Prediction> out(count);
    for (size_t row = 0; row < count; ++row) {
      out[row].outputs.assign(&outputs[row * width], &outputs[row * width] + width);
      out[row].values.assign(&answers[row * width], &answers[row * width] + width);
      for (size_t i = row * choices; i < (row + 1) * choices; ++i) {
        out[row].classes.push_back(classes[i]);
        out[row].names.emplace_back(millrace_network_class(c, classes[i]));
      }
    }
    return out;
  }

  static void expect_equal(const Prediction& got, const json& raw, const json& line) {
    const auto list = [](const json& value) { return value.is_array() ? value : json::array({value}); };
    const json outputs = list(raw.at("prediction"));
    const bool classes = line.contains("class");
    const json values = list(line.at(classes ? "probability" : "prediction"));
    ASSERT_EQ(got.outputs.size(), outputs.size());
    ASSERT_EQ(got.values.size(), values.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(got.outputs[i], outputs[i].get<float>());
      EXPECT_EQ(static_cast<float>(got.values[i]), values[i].get<float>());
    }
    ASSERT_EQ(got.classes.size(), classes ? 1u : 0u);
    if (!classes) return;
    EXPECT_EQ(got.classes[0], line.at("class").get<int64_t>());
    EXPECT_EQ(got.names[0], line.value("name", ""));
  }

  // Predicts the rows with m.safetensors in all ways; the answers of the command line.
  std::vector<json> predict(const Table& table) {
    const std::vector<json> raw = lines(table, "--raw"), answers = lines(table, "");
    const std::string model = folder_.path("m.safetensors");
    const Network network = Network::load(model, {.overrides = {"device=cpu"}});
    millrace_network* c = nullptr;
    EXPECT_EQ(millrace_network_load(model.c_str(), 1, nullptr, &c, nullptr), MILLRACE_OK);
    const std::vector<Prediction> together = from_c(c, network, table, 0, table.rows.size());
    for (size_t row = 0; row < table.rows.size(); ++row) {
      SCOPED_TRACE(cat("row ", row));
      expect_equal(from_cpp(network, table, row), raw.at(row), answers.at(row));
      const Prediction alone = from_c(c, network, table, row, 1)[0];
      expect_equal(alone, raw.at(row), answers.at(row));
      // In one call the last bits may differ.
      for (size_t i = 0; i < alone.outputs.size(); ++i) {
        EXPECT_NEAR(together[row].outputs[i], alone.outputs[i], 1e-4 * (1 + std::abs(alone.outputs[i])));
      }
    }
    millrace_network_free(c);
    return answers;
  }

  TempFolder folder_;
};

TEST_F(PredictEverywhereTest, ModelsOfTheSetsInConfigs) {
  for (const std::string name : {"breast_cancer", "diabetes", "digits", "iris", "wine"}) {
    SCOPED_TRACE(name);
    const std::string data = test::source_dir() + "/configs/data/" + name;
    train(data + "-train.csv", "label");
    Table rows = table_of(TempFolder::read(data + "-test.csv"));
    ASSERT_GT(rows.rows.size(), 30u);
    rows.rows.resize(std::min<size_t>(rows.rows.size(), 60));
    predict(rows);
  }
}

// Rows of numbers and texts, with gaps of each sort that `trainer init` knows.
Table shops(int count) {
  static const char* const towns[] = {"Z\xc3\xbcrich", "New York, NY", "the \"old\" town", ""};
  static const char* const sizes[] = {"small", "large", "NA"};
  Table out = {{"visitors", "opened", "town", "size", "before", "code", "rent", "kind", "open"}, {}};
  for (int i = 0; i < count; ++i) {
    out.rows.push_back({i % 6 == 0    ? ""
                        : i % 31 == 0 ? "-9999"
                                      : cat(10 + i * 7 % 23, ".5"),
                        i % 11 == 0 ? "NA" : cat(1600000000 + i * 37 % 101), towns[i % 4], sizes[i % 3],
                        sizes[i / 2 % 3], cat("0", 1 + i % 5), i % 13 == 0 ? "?" : cat(1000 + 20 * (i % 17)),
                        i % 3 == 0   ? "bakery"
                        : i % 3 == 1 ? "bank"
                                     : "bar",
                        i % 2 == 0 ? "no" : "yes"});
  }
  return out;
}

// Gaps, and texts that no training has seen.
Table new_shops() {
  Table out = shops(40);
  out.rows[1] = {"", "", "", "", "", "", "", "", ""};
  out.rows[2] = {"NaN", "NA", "N/A", "null", "?", "NA", "-", "bar", "no"};
  out.rows[3][2] = "Atlantis";
  out.rows[5][3] = "LARGE";
  out.rows[7][0] = "-9999";
  return out;
}

TEST_F(PredictEverywhereTest, ModelsOfTablesWithTextsAndGaps) {
  folder_.write("shops.csv", shops(400).csv());
  std::map<std::string, std::vector<json>> answers;
  for (const char* label : {"kind", "open", "rent", "town"}) {
    SCOPED_TRACE(label);
    train("shops.csv", label,
          label == std::string("rent") ? std::vector<std::string>{"--task", "regression"} : std::vector<std::string>());
    const Network network = Network::load(folder_.path("m.safetensors"));
    bool texts = false;
    for (const FieldSpec& field : network.fields().fields) texts = texts || field.text;
    EXPECT_TRUE(texts) << network.fields().text();
    answers[label] = predict(new_shops());
  }
  EXPECT_EQ(answers["kind"][0].at("probability").size(), 3u);
  EXPECT_TRUE(answers["kind"][1].at("name").get<std::string>().starts_with("ba"));
  EXPECT_TRUE(answers["open"][0].at("probability").is_number());
  EXPECT_GT(answers["rent"][0].at("prediction").get<double>(), 500) << "in its own unit";
}

TEST_F(PredictEverywhereTest, ModelsOfTextsAlone) {
  Table table = {{"colour", "shape", "kind"}, {}};
  for (int i = 0; i < 120; ++i) {
    table.rows.push_back(
        {i % 2 == 0 ? "red" : "green", i % 3 == 0 ? "round" : "long", i % 6 == 0 ? "cherry" : "other"});
  }
  folder_.write("table.csv", table.csv());
  train("table.csv", "kind");
  table.rows = {{"red", "round", ""}, {"", "long", ""}, {"blue", "", ""}};
  predict(table);
}

}  // namespace
}  // namespace millrace::cli
