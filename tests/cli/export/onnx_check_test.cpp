// Models of every layer, loss and op are exported, and answer in onnxruntime as they do here.
#include "millrace/cli/export/onnx_check.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "millrace/cli/export/onnx_runtime.h"
#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/onnx/onnx_file.h"
#include "millrace/core/text.h"
#include "millrace/input/transform.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/cli/export/onnx_python.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

constexpr const char* kEnd = "optimizer: {sgd: {learning_rate: 0.05}}\ntrain: {steps: 12, log_every: 4}\n";

class OnnxCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!use_onnx_python()) GTEST_SKIP() << "python3 has no onnx and onnxruntime: scripts/onnx-python installs them";
  }
  // The files are checked together, because loading the checker takes a second.
  void TearDown() override {
    if (made_ == 0) return;
    EXPECT_EQ(checker_messages(folder_.path()), "");
  }

  // Numbers of a normal distribution, and a label of 0 to 6 at the end. A share of the other numbers is missing.
  void write_numbers(int columns, int rows, int classes, double missing = 0.05) {
    std::mt19937 draw(7);
    std::normal_distribution<float> number;
    std::string text;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const bool lacks = std::uniform_real_distribution<>()(draw) < missing;
        text += lacks ? "," : cat(number(draw), ',');
      }
      text += cat(row % classes, '\n');
    }
    folder_.write("data.csv", text);
  }

  static std::string reader(const std::string& decode, bool header = false) {
    return cat(
        "seed: 5\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: \"@/data.csv\"}\n  - csv_reader: "
        "{header: ",
        header, "}\n  - decode_csv: ", decode, '\n');
  }
  static std::string numbers(int columns) {
    return reader(cat("{fields: {features: {columns: 0-", columns - 1, ", default: 0.25}, label: {columns: ", columns,
                      "}}}")) +
           "  - batch: {batch_size: 8}\n";
  }

  std::string with_data(std::string yaml) const {
    for (size_t at = 0; (at = yaml.find('@')) != std::string::npos;) yaml.replace(at, 1, folder_.path());
    return yaml;
  }
  // The file of the trained model.
  std::string train(const std::string& yaml) {
    const std::string name = cat("m", made_++), file = folder_.path(name + ".safetensors");
    Trainer trainer = Trainer::from_string(with_data(yaml), name + ".yaml");
    trainer.run();
    trainer.save(file);
    return file;
  }
  // Trains the configuration, exports the model, and compares both on data.csv.
  OnnxCheck compare(const std::string& yaml) { return compare_trained(train(yaml)); }
  OnnxCheck compare_trained(const std::string& file) {
    const std::string onnx = file + ".onnx";
    const OnnxModel model = onnx_model({.model = file});
    std::ofstream(onnx, std::ios::binary) << onnx_bytes(model.graph, {.producer = "Millrace", .version = "1"});
    Predictor predictor(
        {.model = file, .data = {folder_.path("data.csv")}, .keep = columns_to_keep(model), .bad_rows_stay = true});
    OnnxRuntime runtime(onnx);
    return check_onnx(predictor, model, runtime);
  }
  void expect_same(const std::string& yaml, uint64_t rows) {
    SCOPED_TRACE(yaml);
    try {
      const OnnxCheck check = compare(yaml);
      EXPECT_EQ(check.rows, rows);
      EXPECT_EQ(check.differ, 0u) << check_text(check) << ", first " << check.first;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }

  // What the program prints.
  std::string python(const std::string& program) const {
    const testing::CommandResult result =
        testing::run_command({"/usr/bin/env", "python3", "-c", program}, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  TempFolder folder_;
  int made_ = 0;
};

// A layer that takes an image, or two inputs, or needs other options than its example, has lines here.
const std::multimap<std::string, std::string> kLayers = {
    {"add", "add: {from: [x, y]}"},
    {"concat", "concat: {from: [x, y], axis: -1}"},
    {"mul", "mul: {from: [x, y, z]}"},
    {"conv2d", "conv2d: {filters: 6, kernel: [3, 2], stride: [2, 1], padding: same, groups: 2, activation: gelu}"},
    {"conv2d", "conv2d: {filters: 3, kernel: 3, dilation: 2, padding: 1, bias: false, activation: relu}"},
    {"conv_transpose2d", "conv_transpose2d: {filters: 2, kernel: 2, stride: 3, padding: same}"},
    {"conv_transpose2d",
     "conv_transpose2d: {filters: 4, kernel: [3, 4], stride: 2, padding: 1, groups: 2, dilation: [2, 1], activation: "
     "tanh}"},
    {"avg_pool", "avg_pool: {size: 3, stride: 2, padding: same}"},
    {"avg_pool", "avg_pool: {size: [2, 3], padding: 1}"},
    {"max_pool", "max_pool: {size: 3, stride: 2, padding: same}"},
    {"global_avg_pool", "global_avg_pool"},
    {"batch_norm", "batch_norm: {epsilon: 0.01}"},
    {"group_norm", "group_norm: {groups: 2, epsilon: 0.001}"},
    {"reshape", "reshape: [2, 2, 64]"},
    {"softmax", "softmax"},
    {"scale", "scale: {bias: false}"},
    {"layer_norm", "layer_norm"},
};

std::string as_node(const std::string& node) {
  return node.find(':') == std::string::npos ? node : cat('{', node, '}');
}

std::string with_layer(const std::string& node, bool image) {
  if (node.find("from:") != std::string::npos) {
    return cat(
        "model:\n  - dense: {units: 20, name: x, from: features}\n  - dense: {units: 20, name: y, from: features}\n",
        node.find('z') == std::string::npos ? "" : "  - dense: {units: 20, name: z, from: features}\n", "  - ", node,
        "\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n", kEnd);
  }
  return cat("model:\n", image ? "  - reshape: [4, 8, 8]\n" : "", "  - ", node, image ? "\n  - flatten" : "",
             "\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n", kEnd);
}

TEST_F(OnnxCheckTest, EveryLayerAgrees) {
  write_numbers(256, 40, 2);
  for (const KindInfo& kind : Catalog::builtin().layers.layers.describe()) {
    std::vector<std::string> nodes;
    for (auto [at, end] = kLayers.equal_range(kind.kind); at != end; ++at) nodes.push_back(at->second);
    if (nodes.empty()) nodes.push_back(kind_example(kind));
    for (const std::string& node : nodes) {
      bool fits = false;
      for (const bool image : {true, false}) {
        const std::string yaml = numbers(256) + with_layer(node, image);
        try {
          Trainer::from_string(with_data(yaml), "t.yaml");
        } catch (const ConfigError&) {
          continue;
        }
        fits = true;
        expect_same(yaml, 40);
      }
      EXPECT_TRUE(fits) << node << " fits no model of with_layer()";
    }
  }
}

// How many of the labels below a loss takes if there are 1, 2 and 3 units.
const std::map<std::string, std::array<int, 3>> kLabels = {{"hinge", {1, 1, 1}},
                                                           {"huber", {3, 3, 3}},
                                                           {"mae", {3, 3, 3}},
                                                           {"mse", {3, 3, 3}},
                                                           {"sigmoid_cross_entropy", {1, 1, 1}},
                                                           {"softmax_cross_entropy", {0, 1, 1}}};

TEST_F(OnnxCheckTest, EveryLossAgrees) {
  write_numbers(4, 60, 2);
  const std::string labels[] = {"", "  - normalize: {fields: [label], mean: 3, std: 0.5}\n",
                                "  - map: {field: label, scale: 4, offset: -1}\n"};
  for (const KindInfo& kind : Catalog::builtin().layers.losses.describe()) {
    const bool numbers = kind.kind == "mse" || kind.kind == "mae" || kind.kind == "huber";
    for (const int units : {1, 2, 3}) {
      std::string columns = "4";
      for (int i = 1; i < units && kind.kind != "softmax_cross_entropy"; ++i) {
        columns += cat(", ", numbers ? i : 4);
      }
      int fit = 0;
      for (const std::string& change : labels) {
        if (!numbers && !change.empty()) continue;
        const std::string yaml =
            reader(cat("{fields: {features: {columns: 0-3, default: 0.25}, label: {columns: [", columns, "]",
                       numbers ? ", default: 1" : "", "}}}")) +
            change +
            cat("  - batch: {batch_size: 8}\nmodel:\n  - dense: {units: 5, activation: tanh}\n  - dense: {units: ",
                units, "}\nloss: ", as_node(kind_example(kind)), '\n', kEnd);
        try {
          Trainer::from_string(with_data(yaml), "t.yaml");
        } catch (const ConfigError&) {
          continue;
        }
        ++fit;
        expect_same(yaml, 60);
      }
      EXPECT_EQ(fit, kLabels.at(kind.kind)[static_cast<size_t>(units) - 1]) << kind.kind << ", units " << units;
    }
  }
}

// Ops that a configuration reads its rows by, in front of the op that makes batches.
struct OpCase {
  const char* op;
  const char* decode;
  const char* ops;
  const char* from;
};
const OpCase kOps[] = {
    {"decode_csv",
     "{missing: [NA], fields: {x: {columns: [a, b], default: [1, nan]}, y: {columns: [b, c], type: float64, "
     "default: 2, missing: [\"-1\", zero]}, label: {columns: k, type: int32}}}",
     "", "[x, y]"},
    {"decode_csv",
     "{missing: [NA], allow_nonfinite: false, fields: {x: {columns: [a], default: 0.5}, i: {columns: k, type: int64}, "
     "u: {columns: k, type: uint8}, label: {columns: k, type: int32}}}",
     "", "[x, i, u]"},
    {"normalize",
     "{missing: [NA, zero, none], fields: {x: {columns: [a, b, c], default: 3}, u: {columns: k, type: uint8}, w: "
     "{columns: c, "
     "type: float64, default: 1e9}, label: {columns: k, type: int32}}}",
     "  - normalize: {fields: [x, u, w], mean: [1, 2, 3, 4, 1e9], std: [2, 3, 0.7, 5, 1e8]}\n", "[x, u, w]"},
    {"map",
     "{missing: [NA, zero, none], fields: {x: {columns: [a, b], default: 3}, i: {columns: k, type: int32}, j: "
     "{columns: k, type: int64}, "
     "label: {columns: k, type: int32}}}",
     "  - map: {field: x, scale: -2.3, offset: 0.1}\n  - map: {field: i, scale: 3, offset: -4, as: ii}\n"
     "  - map: {field: j, scale: -7}\n",
     "[x, i, ii, j]"},
    {"vocabulary",
     "{missing: [\"?\"], fields: {t: {columns: [t, s], type: string, default: [red, none]}, label: {columns: k, "
     "type: int32}}}",
     "  - vocabulary: {field: t, texts: [red, grün, none, \"a,b\"], as: code, unknown: code}\n", "[code]"},
    {"one_hot",
     "{missing: [\"?\"], fields: {t: {columns: [t, s], type: string, default: red}, label: {columns: k, type: int32}}}",
     "  - vocabulary: {field: t, texts: [red, grün], as: code, unknown: code}\n"
     "  - one_hot: {field: code, classes: 3, as: hot}\n",
     "[hot]"},
    {"vocabulary", "{fields: {t: {columns: t, type: string, default: red}, label: {columns: k, type: int32}}}",
     "  - vocabulary: {field: t, texts: [red, grün, \"?\", blue, \"a,b\", other], as: code}\n"
     "  - one_hot: {field: code, classes: 6, as: hot}\n",
     "[hot]"},
    {"calendar",
     "{fields: {d: {columns: d, type: date, default: \"1999-12-31\"}, e: {columns: e, type: timestamp, as: int64}, "
     "f: {columns: f, type: timestamp, format: \"%d %b %Y, %I:%M %p\"}, label: {columns: k, type: int32}}}",
     "  - calendar: {field: d, as: dd, features: [year, month, day, yearday, weekday, hour, minute, month_sin, "
     "month_cos, "
     "yearday_sin, yearday_cos, weekday_sin, weekday_cos]}\n"
     "  - calendar: {field: e, as: ee, features: [hour, minute, hour_sin, hour_cos, yearday, year]}\n"
     "  - calendar: {field: f, as: ff, features: [day, hour, minute, weekday]}\n"
     "  - normalize: {fields: [dd], mean: [2000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], std: [100, 12, 31, 366, 7, 24, "
     "60, 1, "
     "1, 1, 1, 1, 1]}\n"
     "  - normalize: {fields: [ee], mean: [0, 0, 0, 0, 0, 2000], std: [24, 60, 1, 1, 366, 100]}\n"
     "  - normalize: {fields: [ff], std: 30}\n",
     "[dd, ee, ff]"},
    {"pad",
     "{fields: {r: {columns: r, split: \" \", default: [1, 2.5]}, q: {columns: q, split: \";\", type: int32, default: "
     "[]}, "
     "label: {columns: k, type: int32}}}",
     "  - pad: {length: 4}\n", "[r, q]"},
    {"augment",
     "{missing: [NA, zero, none], fields: {x: {columns: [a, b, c, a, b, c, a, b, c], default: 1, reshape: [1, 3, 3]}, "
     "label: "
     "{columns: k, type: int32}}}",
     "  - augment: {fields: [x], crop: [2, 1], flip: horizontal, noise: 0.1}\n", "[x]"},
};

TEST_F(OnnxCheckTest, EveryOpAgrees) {
  std::mt19937 draw(11);
  const auto one_of = [&](const std::vector<std::string>& texts) { return texts[draw() % texts.size()]; };
  const auto digits = [](unsigned long value) { return cat(value < 10 ? "0" : "", value); };
  std::string text = "a,b,c,k,t,s,d,e,f,r,q\n";
  for (int row = 0; row < 200; ++row) {
    const std::string day = digits(1 + draw() % 28), month = digits(1 + draw() % 12), hour = digits(draw() % 24),
                      minute = digits(draw() % 60), year = cat(1 + draw() % 9998 + 10000).substr(1);
    const std::string iso = cat(year, '-', month, '-', day);
    text +=
        cat(one_of({"1.5", "-2e3", "", "NA", "0.1", "7"}), ',', one_of({"3.25", "-1", "", "16777217", "-0.004"}), ',',
            one_of({"123456789.123", "-1", "zero", "", "5"}), ',', draw() % 3, ',',
            one_of({"red", "grün", "", "\"a,b\"", "blue", "?", "other"}), ',', one_of({"none", "red", "", "x y", "?"}),
            ',', one_of({iso, iso, "", "2000-02-29", "1970-01-01", "9999-12-31"}), ',',
            one_of({iso, cat(iso, 'T', hour, ':', minute), cat(' ', iso, ' ', hour, ':', minute, ":59.25 Z "),
                    cat(iso, ' ', hour, ':', minute, "-0330"), cat(iso, 't', hour, ':', minute, ":07+05:30"),
                    cat(iso, " 22:59:60-01"), cat(iso, 'T', hour, ":59:59.999999999"),
                    cat("\"", iso, ' ', hour, ':', minute, ":07,5-11\"")}),
            ",\"", draw() % 28 + 1, ' ', one_of({"Jan", "february", "MAR", "dEc", "May"}), ' ', year, ", ",
            draw() % 12 + 1, ':', minute, ' ', one_of({"AM", "pm", "Pm"}), "\",",
            one_of({"1 2 3", "", "4.5", " 1  -2 ", "1 2 3 4", "1e-50 0.1"}), ',', one_of({"1;2", "", "-7", "4;3;2;1"}),
            '\n');
  }
  folder_.write("data.csv", text);
  std::set<std::string> seen;
  for (const OpCase& one : kOps) {
    seen.insert(one.op);
    const std::string yaml = cat(
        reader(one.decode, true), one.ops, "  - batch: {batch_size: 8}\nmodel:\n",
        std::string(one.from).find(',') != std::string::npos ? cat("  - concat: {from: ", one.from, "}\n")
        : std::string(one.op) == "augment"                   ? "  - flatten: {from: x}\n"
                                                             : cat("  - scale: {from: ", one.from, "}\n"),
        "  - layer_norm\n  - dense: {units: 6, activation: tanh}\n  - dense: {units: 3}\nloss: softmax_cross_entropy\n",
        kEnd);
    expect_same(yaml, 200);
  }
  // These transforms are refused, each with its name, or do not come so far.
  const std::set<std::string> others = {"filter", "hold_out", "queue", "decode_example", "decode_image"};
  const Catalog& catalog = Catalog::builtin();
  for (const auto& [kind, entry] : catalog.ops.entries()) {
    if (others.contains(kind) || seen.contains(kind)) continue;
    const Spec spec = parse_yaml(entry.example.empty() ? kind : cat(kind, ": {", entry.example, '}'), "example");
    const auto op = catalog.ops.make(catalog.ops.read(spec, "an op"), spec);
    EXPECT_EQ(dynamic_cast<const Transform*>(op.get()), nullptr) << kind << " is exported, but kOps has no line for it";
  }
}

TEST_F(OnnxCheckTest, AnAmountIsAsExactAsTheNumberItComesFrom) {
  write_numbers(30, 200, 7);
  const std::string input = reader("{fields: {features: {columns: 0-29, default: 0.25}, label: {columns: 30}}}") +
                            "  - normalize: {fields: label, mean: 0, std: 1000000}\n  - batch: {batch_size: 8}\n";
  const std::string yaml =
      input + "model: [{dense: {units: 64, activation: tanh}}, {dense: {units: 1}}]\nloss: mse\n" + kEnd;
  const OnnxCheck check = compare(yaml);
  EXPECT_EQ(check.rows, 200u);
  EXPECT_EQ(check.differ, 0u) << check_text(check);
  EXPECT_GT(check.largest, 1e-3);  // of 1e6; some values are near to 0
  EXPECT_LE(check.share, kOnnxBound);
}

TEST_F(OnnxCheckTest, CountsAnswersThatAreNoNumbers) {
  write_numbers(2, 20, 7);
  const std::string file = train(numbers(2) + "model: [{dense: {units: 4}}, {dense: {units: 1}}]\nloss: mse\n" + kEnd);
  folder_.write("data.csv", "inf,-inf,0\n1,2,0\n");
  const OnnxCheck check = compare_trained(file);
  EXPECT_EQ(check.rows, 2u);
  EXPECT_EQ(check.nan, 1u);
  EXPECT_EQ(check.differ, 0u);
  EXPECT_TRUE(check_text(check).ends_with(", 1 row with NaN on this side")) << check_text(check);
}

TEST_F(OnnxCheckTest, AnOpThatCannotBeWrittenIsNamed) {
  write_numbers(3, 40, 2, 0);
  const std::string file =
      train(reader("{fields: {features: {columns: 0-2}, code: {columns: 3}, label: {columns: 3}}}") +
            "  - filter: {field: code, op: \">=\", value: 0}\n  - batch: {batch_size: 8}\nmodel:\n  - concat: {from: "
            "[features, code]}\n  - dense: {units: 1}\n"
            "loss: sigmoid_cross_entropy\n" +
            kEnd);
  try {
    onnx_model({.model = file});
    ADD_FAILURE() << "a filter was exported";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "filter: it cannot be written as ONNX");
    EXPECT_TRUE(error.place().text().starts_with(file + ":config:")) << error.place().text();
  }
  made_ = 0;
}

// What `trainer predict` refuses has NaN and class -1 there, and the other rows of its batch their answers.
TEST_F(OnnxCheckTest, ARefusedRowHasNoAnswer) {
  folder_.write("data.csv", "t,d,k,r,label\nred,2024-01-02,1,1 2,yes\nblue,2024-02-29,2,,no\n");
  const std::string file = train(
      reader("{allow_nonfinite: false, fields: {t: {columns: t, type: string}, d: {columns: d, type: date}, "
             "k: {columns: k, type: int32}, r: {columns: r, split: \" \", default: []}, y: {columns: label, type: "
             "string}}}",
             true) +
      "  - vocabulary: {field: t, texts: [red, blue], as: code}\n  - one_hot: {field: code, classes: 2, as: hot}\n"
      "  - one_hot: {field: k, classes: 3, as: kind}\n  - calendar: {field: d, as: day, features: [month, day]}\n"
      "  - vocabulary: {field: y, texts: [no, yes], as: label}\n  - pad: {length: 2}\n  - batch: {batch_size: 2}\n"
      "model:\n  - concat: {from: [hot, kind, day, r]}\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n" +
      kEnd);
  const OnnxModel model = onnx_model({.model = file});
  const std::string onnx = file + ".onnx";
  std::ofstream(onnx, std::ios::binary) << onnx_bytes(model.graph, {});
  OnnxRuntime runtime(onnx);
  runtime.load();
  const std::vector<std::string> rows = runtime.run(
      R"([[["red"],["green"],["red"],["red"],["red"],["blue"],[""],["red"],["red"],["red"],["red"],["red"]],)"
      R"([["2024-01-02"],["2024-01-02"],["2023-02-29"],["no date"],["2024-01-02"],["2024-02-29"],["2024-01-02"],)"
      R"(["2024-01-02"],["2024-01-02"],["2024-01-02"],["2024-01-02"],["2024-01-02"]],)"
      R"([[1],[1],[1],[1],[3],[1.5],[1],["nan"],[1],[1],[1],[1]],)"
      R"([["1 .5e-3"],[""],[""],[""],[""],[""],[""],[""],["1 x"],["1e400"],["0x10"],["1e39"]]])",
      12);
  EXPECT_EQ(rows[0].find("nan"), std::string::npos) << rows[0];
  EXPECT_NE(rows[0].find(" x"), std::string::npos) << rows[0];
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i], "-1.0 x nan") << i;
  EXPECT_EQ(python("import numpy as np, onnxruntime\n"
                   "session = onnxruntime.InferenceSession('m0.safetensors.onnx')\n"
                   "texts = np.empty((0, 1), object)\n"
                   "feed = {'t': texts, 'd': texts, 'r': texts, 'k': np.empty((0, 1))}\n"
                   "print(*[output.shape for output in session.run(None, feed)])\n"),
            "(0,) (0,) (0, 1)\n");
}

TEST_F(OnnxCheckTest, RefusesTheRowsThatPredictRefuses) {
  struct Column {
    const char* name;
    std::vector<std::string> good, bad;
  };
  const Column columns[] = {
      {"t", {"red", "blue"}, {"green", "", "Red"}},
      {"d", {"2024-02-29", " 0001-01-01 "}, {"2023-02-29", "2024-13-01", "2024-00-10", "0000-01-01", "x", ""}},
      {"e",
       {"2016-12-31T23:59:60Z", "2024-01-02 10:00+0530", "2024-01-02"},
       {"2024-01-02T24:00", "2024-01-02T10:60", "2024-01-02T12:30:60", "2024-01-02T10:00+24:00", "2024-01-02T"}},
      {"f",
       {"29 February 68; 12:30:07.5 pm", "1 dec 69; 1:02:59.999999999 AM", "31 MAY 00; 11:59:60.0 PM"},
       {"29 February 69; 12:30:07.5 pm", "31 June 20; 1:00:00.0 AM", "1 Decem 20; 1:00:00.0 AM",
        "1 Dec 20; 13:00:00.0 PM", "1 Dec 20; 0:30:00.0 AM", "1 Dec 20; 1:00:00.0 xm", "1 Dec 20; 11:59:60.0 AM"}},
      {"g", {"2024/366 23.59", "2023/1 0.0"}, {"2023/366 23.59", "2024/000 0.0", "2024/367 0.0", "2024/1 24.00"}},
      {"k", {"0", "2"}, {"3", "-1", ""}},
      {"r", {"1 -.5e-60", "", "3e3 1e-45"}, {"1 x", "1e39", "-4e38 1", "inf", "nan", "1e400", "0x1p3", "1 2 3 4"}},
      {"q", {"1;2;3", "", "-2147483648"}, {"1;;2", "2147483648", "1.5", "1;", ";", "1;2;3;4"}}};
  std::mt19937 draw(13);
  const auto rows_of = [&](int rows, unsigned bad_share) {
    std::string text = "t,d,e,f,g,k,r,q,label\n";
    for (int row = 0; row < rows; ++row) {
      for (const Column& column : columns) {
        const std::vector<std::string>& values = draw() % 100 < bad_share ? column.bad : column.good;
        text += values[draw() % values.size()] + ',';
      }
      text += cat(row % 2, '\n');
    }
    return text;
  };
  folder_.write("data.csv", rows_of(40, 0));
  const std::string file = train(
      reader("{allow_nonfinite: false, fields: {t: {columns: t, type: string}, d: {columns: d, type: date}, "
             "e: {columns: e, type: timestamp, as: int64}, f: {columns: f, type: timestamp, format: \"%d %B %y; "
             "%I:%M:%S.%f %p\"}, g: {columns: g, type: timestamp, format: \"%Y/%j %H.%M\"}, k: {columns: k, type: "
             "int32}, r: {columns: r, split: \" \", default: []}, q: {columns: q, split: \";\", type: int32, default: "
             "[]}, label: {columns: label, type: int32}}}",
             true) +
      "  - vocabulary: {field: t, texts: [red, blue], as: code}\n  - one_hot: {field: code, classes: 2, as: hot}\n"
      "  - one_hot: {field: k, classes: 3, as: kind}\n  - pad: {length: 3}\n"
      "  - calendar: {field: d, as: dd, features: [yearday_sin]}\n"
      "  - calendar: {field: e, as: ee, features: [hour_sin, weekday_sin]}\n"
      "  - calendar: {field: f, as: ff, features: [hour_sin, hour_cos, yearday_cos, weekday_cos]}\n"
      "  - calendar: {field: g, as: gg, features: [hour_sin, yearday_sin]}\n  - batch: {batch_size: 8}\n"
      "model:\n  - concat: {from: [hot, kind, dd, ee, ff, gg, r, q]}\n  - dense: {units: 1}\n"
      "loss: sigmoid_cross_entropy\n" +
      kEnd);
  const OnnxModel model = onnx_model({.model = file});
  std::ofstream(file + ".onnx", std::ios::binary) << onnx_bytes(model.graph, {});
  OnnxRuntime runtime(file + ".onnx");
  runtime.load();
  folder_.write("data.csv", rows_of(400, 8));
  Predictor predictor(
      {.model = file, .data = {folder_.path("data.csv")}, .keep = columns_to_keep(model), .bad_rows_stay = true});
  int64_t refused = 0, rows = 0;
  while (const RowBlock* batch = predictor.next()) {
    JsonText json;
    json.open('[');
    for (size_t i = 0; i < model.text_inputs.size(); ++i) {
      json.open('[');
      for (int64_t row = 0; row < batch->size(); ++row) {
        const std::string_view text = predictor.kept(row, i);
        json.open('[').value(!model.text_inputs[i].text && text.empty() ? "nan" : text).close(']');
      }
      json.close(']');
    }
    const auto answers = runtime.run(json.close(']').text(), static_cast<size_t>(batch->size()));
    for (int64_t row = 0; row < batch->size(); ++row, ++rows) {
      const bool bad = !predictor.error(row).empty();
      refused += bad ? 1 : 0;
      EXPECT_EQ(answers[static_cast<size_t>(row)] == "-1.0 nan", bad)
          << predictor.place(batch->id(row)).text() << ' ' << predictor.error(row);
    }
  }
  EXPECT_EQ(rows, 400);
  EXPECT_GT(refused, 150);
  EXPECT_LT(refused, 250);
}

// A field of arrays is an input as it is: bytes, in the shape of an image.
TEST_F(OnnxCheckTest, AnArrayIsAnInputAsItIs) {
  python(
      "import numpy as np\nr = np.random.default_rng(3)\n"
      "np.save('x.npy', r.integers(0, 256, (12, 2, 6, 5), dtype=np.uint8))\n"
      "np.save('y.npy', r.integers(0, 3, 12))\n");
  const std::string file = train(
      std::string(
          "device: cpu\ninput:\n  - npy_reader: {fields: {features: @/x.npy, label: @/y.npy}}\n"
          "  - normalize: {fields: [features], mean: 100, std: 50}\n"
          "  - augment: {fields: [features], crop: [4, 3], shift: 1, flip: horizontal}\n  - batch: {batch_size: 4}\n"
          "model:\n  - conv2d: {filters: 3, kernel: 3, padding: same, activation: relu}\n  - flatten\n"
          "  - dense: {units: 3}\nloss: softmax_cross_entropy\n") +
      kEnd);
  const OnnxModel model = onnx_model({.model = file});
  EXPECT_EQ(model.graph.inputs(), (std::vector<OnnxGraph::Port>{{"features", OnnxType::u8, {2, 6, 5}}}));
  EXPECT_THROW(columns_to_keep(model), ConfigError);
  std::ofstream(file + ".onnx", std::ios::binary) << onnx_bytes(model.graph, {});
  std::istringstream there(
      python("import numpy as np, onnxruntime\nsession = onnxruntime.InferenceSession('m0.safetensors.onnx')\n"
             "for row in session.run(['probability'], {'features': np.load('x.npy')})[0]: print(*row)\n"));
  Predictor predictor({.model = file, .data = {"features=" + folder_.path("x.npy")}});
  int rows = 0;
  while (const RowBlock* batch = predictor.next()) {
    for (int64_t row = 0; row < batch->size(); ++row, ++rows) {
      for (const double here : model.answers.answer(predictor.output(row)).values) {
        double value = -1;
        there >> value;
        EXPECT_NEAR(value, here, kOnnxBound) << rows;
      }
    }
  }
  EXPECT_EQ(rows, 12);
}

}  // namespace
}  // namespace millrace::cli
