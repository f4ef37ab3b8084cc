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
  AnswerNodes(OnnxGraph& graph, const Answers& answers, OnnxValue outputs, OnnxValue refused)
      : graph_(graph),
        answers_(answers),
        outputs_(graph.reshape(outputs, Shape{answers.outputs()})),
        refused_(refused) {}

  void add() {
    OnnxValue values = kNoOnnxValue;
    switch (answers_.kind()) {
      case PredictionKind::values: values = amounts(); break;
      case PredictionKind::one_of_many: values = one_of_many(); break;
      case PredictionKind::yes_or_no:
      case PredictionKind::each_yes_or_no: values = yes_or_no(); break;
    }
    if (refused_ != kNoOnnxValue) values = graph_.add("Where", {refused_rows(), graph_.constant(kNaN), values});
    const bool classes = answers_.choices() > 0;
    graph_.output(free_name(classes ? "probability" : "prediction"), values, OnnxType::f32, {answers_.outputs()});
  }

 private:
  std::string free_name(std::string name) const {
    while (std::ranges::find(graph_.inputs(), name, &OnnxGraph::Port::name) != graph_.inputs().end()) name += '_';
    return name;
  }
  OnnxValue wide() { return graph_.cast(outputs_, OnnxType::f64); }
  // As (rows, 1).
  OnnxValue refused_rows() { return graph_.reshape(refused_, Shape{1}); }
  OnnxValue is_nan() { return graph_.add("IsNaN", {outputs_}); }

  OnnxValue numbers(const std::vector<double>& values) {
    return graph_.constant(ConstTensorView(values.data(), DType::f64, Shape{std::ssize(values)}));
  }

  OnnxValue amounts() {
    if (!answers_.undoes()) return outputs_;
    const OnnxValue scaled = graph_.add("Mul", {wide(), numbers(answers_.label().scale)});
    return graph_.cast(graph_.add("Add", {scaled, numbers(answers_.label().offset)}), OnnxType::f32);
  }

  OnnxValue one_of_many() {
    // Classes are open if a logit is NaN or infinite; a count of such logits is not 0 then.
    const OnnxValue finite = graph_.add("Less", {outputs_, graph_.constant(std::numeric_limits<float>::infinity())});
    const OnnxValue fit =
        graph_.add("ReduceSum", {graph_.cast(finite, OnnxType::i32), graph_.list({1})}, {{"keepdims", int64_t{1}}});
    const OnnxValue open = graph_.add("Less", {fit, graph_.constant(static_cast<int32_t>(answers_.outputs()))});
    const OnnxValue largest = graph_.add("ArgMax", {outputs_}, {{"axis", int64_t{1}}, {"keepdims", int64_t{1}}});
    add_classes(largest, open, true);
    const OnnxValue shares = graph_.add("Softmax", {wide()}, {{"axis", int64_t{1}}});
    return graph_.add("Where", {open, graph_.constant(kNaN), graph_.cast(shares, OnnxType::f32)});
  }

  OnnxValue yes_or_no() {
    const OnnxValue yes = graph_.cast(graph_.add("Greater", {outputs_, graph_.constant(0.0F)}), OnnxType::i64);
    add_classes(yes, is_nan(), answers_.outputs() == 1);
    return graph_.cast(graph_.add("Sigmoid", {wide()}), OnnxType::f32);
  }

  // `numbers` and `open` are (rows, choices); `one`: a row has one class.
  void add_classes(OnnxValue numbers, OnnxValue open, bool one) {
    if (refused_ != kNoOnnxValue) open = graph_.add("Or", {open, refused_rows()});
    OnnxValue classes = graph_.add("Where", {open, graph_.constant(int64_t{-1}), numbers});
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
    const OnnxValue names = graph_.add_ml("LabelEncoder", {classes},
                                          {{"keys_int64s", keys}, {"values_strings", texts}, {"default_string", ""}});
    graph_.output(free_name("name"), names, OnnxType::text, shape);
  }

  OnnxGraph& graph_;
  const Answers& answers_;
  const OnnxValue outputs_, refused_;
};

}  // namespace

void add_answers(OnnxGraph& graph, const Answers& answers, OnnxValue outputs, OnnxValue refused) {
  graph.set_scope("answer");
  AnswerNodes(graph, answers, outputs, refused).add();
}

}  // namespace millrace
