#include "millrace/cli/export/onnx_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "millrace/cli/text/json_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace::cli {

namespace {

// The number as `trainer predict` reads it; NaN if it is missing.
template <class T>
double number_of(std::string_view text) {
  T number{};
  const bool is_number = parse_number(text, number) == NumberStatus::ok;
  return is_number ? static_cast<double>(number) : std::numeric_limits<double>::quiet_NaN();
}

// The good rows of a batch, as OnnxRuntime::run() reads them.
std::string batch_text(const Predictor& predictor, const std::vector<int64_t>& rows, const OnnxModel& model) {
  JsonText json;
  json.open('[');
  size_t first = 0;
  for (size_t i = 0; i < model.text_inputs.size(); ++i) {
    const OnnxTextInput& input = model.text_inputs[i];
    const OnnxGraph::Port& port = model.graph.inputs()[i];
    const auto size = static_cast<size_t>(port.shape.front());
    json.open('[');
    for (const int64_t row : rows) {
      json.open('[');
      for (size_t k = 0; k < size; ++k) {
        const std::string_view text = predictor.kept(row, first + k);
        if (input.text) {
          json.value(text);
        } else {
          json.value(port.type == OnnxType::f64 ? number_of<double>(text) : number_of<float>(text));
        }
      }
      json.close(']');
    }
    json.close(']');
    first += size;
  }
  return json.close(']').text();
}

std::string hexadecimal(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out = "x";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// What both sides say of a row.
class RowComparison {
 public:
  RowComparison(const Answers& answers, std::span<const float> output, const std::string& there)
      : answers_(answers), here_(answers.answer(output)), words_(there), named_(!answers.classes().empty()) {}

  // Whether they agree within the bound; raises the largest differences of `check`.
  bool agrees(OnnxCheck& check) {
    std::vector<int64_t> classes(here_.classes.size());
    for (int64_t& number : classes) number = static_cast<int64_t>(next());
    std::vector<std::string> texts;
    for (size_t i = 0; named_ && i < classes.size(); ++i) {
      std::string word;
      words_ >> word;
      texts.push_back(word);
    }
    bool good = true;
    for (size_t i = 0; i < here_.values.size(); ++i) good = same(i, next(), check) && good;
    if (std::ranges::any_of(here_.values, [](double value) { return std::isnan(value); })) ++check.nan;
    for (size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] == here_.classes[i]) {
        good = good && (!named_ || texts[i] == hexadecimal(here_.texts[i]));
      } else {
        good = good && is_close(i, classes[i]);
      }
    }
    return good && !words_.fail();
  }

 private:
  double next() {
    std::string word;
    double number = 0;
    if (words_ >> word && parse_number(word, number) == NumberStatus::ok) return number;
    words_.setstate(std::ios::failbit);
    return 0;
  }
  bool same(size_t i, double there, OnnxCheck& check) const {
    const double here = here_.values[i];
    if (std::isnan(here) || std::isnan(there)) return std::isnan(here) && std::isnan(there);
    if (here == there) return true;  // infinities, too
    const double difference = std::abs(here - there);
    const double share = difference / std::max({1.0, std::abs(here), unit(i)});
    check.largest = std::max(check.largest, difference);
    check.share = std::max(check.share, share);
    return share <= kOnnxBound;
  }
  // What the label was divided by.
  double unit(size_t i) const {
    if (!answers_.undoes()) return 1;
    const std::vector<double>& scale = answers_.label().scale;
    return std::abs(scale.size() == 1 ? scale.front() : scale[i]);
  }
  // Whether the class may be another one, because the probabilities that decide are near to each other.
  bool is_close(size_t choice, int64_t other) const {
    const int64_t number = here_.classes[choice];
    if (number < 0 || other < 0) return false;
    const bool one_of_many = here_.classes.size() == 1 && here_.values.size() > 1;
    if (!one_of_many) return std::abs(here_.values[choice] - 0.5) <= kOnnxBound;
    if (other >= std::ssize(here_.values)) return false;
    const double best = here_.values[static_cast<size_t>(number)];
    return std::abs(best - here_.values[static_cast<size_t>(other)]) <= kOnnxBound;
  }

  const Answers& answers_;
  const Answer here_;
  std::istringstream words_;
  const bool named_;  // classes have texts
};

}  // namespace

std::vector<std::string> columns_to_keep(const OnnxModel& model) {
  std::vector<std::string> out;
  for (const OnnxGraph::Port& port : model.graph.inputs()) {
    const auto found = std::ranges::find(model.text_inputs, port.name, &OnnxTextInput::name);
    if (found == model.text_inputs.end()) {
      throw ConfigError(cat("--check reads columns of CSV, and the input ", quote(port.name), " is a tensor"), {},
                        "export without --check");
    }
    out.insert(out.end(), found->columns.begin(), found->columns.end());
  }
  return out;
}

OnnxCheck check_onnx(Predictor& predictor, const OnnxModel& model, OnnxRuntime& runtime) {
  runtime.load();
  OnnxCheck out;
  out.version = runtime.version();
  while (const RowBlock* batch = predictor.next()) {
    std::vector<int64_t> good;
    for (int64_t row = 0; row < batch->size(); ++row) {
      if (predictor.error(row).empty()) good.push_back(row);
    }
    out.bad_rows += static_cast<uint64_t>(batch->size()) - good.size();
    if (good.empty()) continue;
    const std::vector<std::string> answers = runtime.run(batch_text(predictor, good, model), good.size());
    for (size_t i = 0; i < good.size(); ++i) {
      ++out.rows;
      RowComparison row(model.answers, predictor.output(good[i]), answers[i]);
      if (row.agrees(out)) continue;
      if (++out.differ == 1) out.first = predictor.place(batch->id(good[i])).text();
    }
  }
  return out;
}

std::string check_text(const OnnxCheck& check) {
  std::string out = cat(count_of(static_cast<int64_t>(check.rows), "row"), " compared with onnxruntime ", check.version,
                        ", largest difference ", rounded(check.largest, 2),
                        check.share < check.largest ? cat(" (", rounded(check.share, 2), " of its size)") : "", ", ",
                        count_of(static_cast<int64_t>(check.differ), "row"), " beyond the bound");
  if (check.nan > 0) out += cat(", ", count_of(static_cast<int64_t>(check.nan), "row"), " with NaN on this side");
  if (check.bad_rows > 0) {
    out += cat(", ", count_of(static_cast<int64_t>(check.bad_rows), "bad row"), " left out");
  }
  return out;
}

}  // namespace millrace::cli
