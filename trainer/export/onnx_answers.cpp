#include "millrace/trainer/export/onnx_answers.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Outputs of a row, (rows, outputs), and what is made of them.
class AnswerNodes {
 public:
  AnswerNodes(OnnxGraph& graph, const Answers& answers, const std::string& outputs, const std::string& refused)
      : graph_(graph),
        answers_(answers),
        outputs_(graph.reshape(outputs, Shape{answers.outputs()})),
        refused_(refused) {}

  void add() {
    std::string values;
    switch (answers_.kind()) {
      case PredictionKind::values: values = amounts(); break;
      case PredictionKind::one_of_many: values = one_of_many(); break;
      case PredictionKind::yes_or_no:
      case PredictionKind::each_yes_or_no: values = yes_or_no(); break;
    }
    if (!refused_.empty()) values = graph_.add("Where", {refused_rows(), graph_.constant(kNaN), values});
    const bool classes = answers_.choices() > 0;
    graph_.output(free_name(classes ? "probability" : "prediction"), values, OnnxType::f32, {answers_.outputs()});
  }

 private:
  std::string free_name(std::string name) const {
    while (std::ranges::find(graph_.inputs(), name, &OnnxGraph::Port::name) != graph_.inputs().end()) name += '_';
    return name;
  }
  std::string wide() { return graph_.cast(outputs_, OnnxType::f64); }
  // As (rows, 1).
  std::string refused_rows() { return graph_.reshape(refused_, Shape{1}); }
  std::string is_nan() { return graph_.add("IsNaN", {outputs_}); }

  std::string amounts() {
    if (!answers_.undoes()) return outputs_;
    const std::string scaled = graph_.add("Mul", {wide(), graph_.list(answers_.label().scale)});
    return graph_.cast(graph_.add("Add", {scaled, graph_.list(answers_.label().offset)}), OnnxType::f32);
  }

  std::string one_of_many() {
    // Classes are open if a logit is NaN or infinite; a count of such logits is not 0 then.
    const std::string finite = graph_.add("Less", {outputs_, graph_.constant(std::numeric_limits<float>::infinity())});
    const std::string fit = graph_.add("ReduceSum", {graph_.cast(finite, OnnxType::i32), graph_.list<int64_t>({1})},
                                       {{"keepdims", int64_t{1}}});
    const std::string open = graph_.add("Less", {fit, graph_.constant(static_cast<int32_t>(answers_.outputs()))});
    const std::string largest = graph_.add("ArgMax", {outputs_}, {{"axis", int64_t{1}}, {"keepdims", int64_t{1}}});
    add_classes(largest, open, true);
    const std::string shares = graph_.add("Softmax", {wide()}, {{"axis", int64_t{1}}});
    return graph_.add("Where", {open, graph_.constant(kNaN), graph_.cast(shares, OnnxType::f32)});
  }

  std::string yes_or_no() {
    const std::string yes = graph_.cast(graph_.add("Greater", {outputs_, graph_.constant(0.0F)}), OnnxType::i64);
    add_classes(yes, is_nan(), answers_.outputs() == 1);
    return graph_.cast(graph_.add("Sigmoid", {wide()}), OnnxType::f32);
  }

  // `numbers` and `open` are (rows, choices); `one`: a row has one class.
  void add_classes(const std::string& numbers, std::string open, bool one) {
    if (!refused_.empty()) open = graph_.add("Or", {open, refused_rows()});
    std::string classes = graph_.add("Where", {open, graph_.constant(int64_t{-1}), numbers});
    std::vector<int64_t> shape;
    if (one) {
      classes = graph_.reshape(classes, Shape{});
    } else {
      shape = {answers_.choices()};
    }
    graph_.output(free_name("class"), classes, OnnxType::i64, shape);
    const std::vector<std::string>& texts = answers_.classes();
    if (texts.empty()) return;
    std::vector<int64_t> keys(texts.size());
    std::iota(keys.begin(), keys.end(), 0);
    const std::string names =
        graph_.add_ml("LabelEncoder", {classes},
                      {{"keys_int64s", std::move(keys)}, {"values_strings", texts}, {"default_string", std::string()}});
    graph_.output(free_name("name"), names, OnnxType::text, shape);
  }

  OnnxGraph& graph_;
  const Answers& answers_;
  const std::string outputs_, refused_;
};

}  // namespace

void add_answers(OnnxGraph& graph, const Answers& answers, const std::string& outputs, const std::string& refused) {
  graph.set_scope("answer");
  AnswerNodes(graph, answers, outputs, refused).add();
}

}  // namespace millrace
