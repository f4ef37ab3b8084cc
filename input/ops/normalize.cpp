#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

// Computes in double and rounds once, so that no digits of the mean are lost.
template <class From, class To>
void normalize_row(const From* from, To* to, const double* mean, const double* deviation, int64_t columns) {
  for (int64_t i = 0; i < columns; ++i) {
    to[i] = static_cast<To>((static_cast<double>(from[i]) - mean[i]) / deviation[i]);
  }
}

class Normalize final : public Transform {
 public:
  struct Options {
    std::vector<std::string> fields;
    std::vector<double> mean = {0}, std = {1};
    void declare(OptionReader& o) {
      o.required("fields", fields, "the fields to change, of type float32, float64 or uint8, which becomes float32");
      o.optional("mean", mean, {.min = -1e300, .max = 1e300},
                 "what is subtracted: one number, or one for each column of the fields, in order");
      o.optional("std", std, {.min = 0, .above_min = true},
                 "what the difference is divided by: one number, or one for each column, too");
    }
  };
  static constexpr std::string_view kDoc = "scales values by given numbers: (value - mean) / std";

  static std::optional<Spec> suit(FoundField& field) {
    if (!field.has(FoundField::Holds::amounts) || field.scaled) return {};
    field.scaled = true;
    return Spec::map({{"fields", field.field}, {"mean", field.mean}, {"std", field.deviation}});
  }

  explicit Normalize(Options options) : options_(std::move(options)) {}

  std::optional<std::vector<std::string>> concerned_fields() const override { return options_.fields; }

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    size_t columns = 0;
    for (const std::string& name : options_.fields) {
      if (std::count(options_.fields.begin(), options_.fields.end(), name) > 1) {
        throw ConfigError(cat("the field ", quote(name), " is named twice"));
      }
      const size_t index = field_index(out.rows, name);
      FieldSpec& field = out.rows.fields[index];
      if (field.varies() || field.dtype == DType::i32 || field.dtype == DType::i64) {
        throw ConfigError(
            cat("normalize changes float32, float64 and uint8 fields, ", name, " is ", field.type_text()));
      }
      parts_.push_back({index, columns, field.dtype, name});
      columns += static_cast<size_t>(field.shape.elements());
      if (field.dtype != DType::u8) continue;
      field.dtype = DType::f32;
      widened_.push_back(index);
    }
    if (!widened_.empty()) spec_ = std::make_shared<const RowSpec>(out.rows);
    mean_ = for_each_column("mean", options_.mean, columns);
    deviation_ = for_each_column("std", options_.std, columns);
    return out;
  }

  void apply(Chunk& chunk) const override {
    if (spec_ != nullptr) copy_fields(chunk, spec_, widened_);
    for (const Part& part : parts_) {
      switch (part.dtype) {
        case DType::u8: normalize_rows<uint8_t, float>(part, chunk.spare, chunk.rows); break;
        case DType::f64: normalize_rows<double, double>(part, chunk.rows, chunk.rows); break;
        default: normalize_rows<float, float>(part, chunk.rows, chunk.rows);
      }
    }
  }

  void to_onnx(OnnxRows& rows) const override {
    OnnxGraph& graph = rows.graph();
    for (const Part& part : parts_) {
      FieldSpec field = *rows.find(part.name);
      const auto each = [&](const std::vector<double>& values) {
        return graph.constant(ConstTensorView(values.data() + part.column, DType::f64, field.shape));
      };
      if (field.dtype == DType::u8) field.dtype = DType::f32;
      const OnnxValue wide = graph.cast(rows.tensor(part.name), OnnxType::f64);
      const OnnxValue scaled = graph.add("Div", {graph.add("Sub", {wide, each(mean_)}), each(deviation_)});
      rows.set(field, graph.cast(scaled, onnx_type(field.dtype)));
    }
  }

  // If columns of several fields have constants of their own, the options do not tell which ones belong to the field.
  void undo(FieldHistory& history) const override {
    if (std::count(options_.fields.begin(), options_.fields.end(), history.field) == 0) return;
    const bool alike = options_.mean.size() == 1 && options_.std.size() == 1;
    if (options_.fields.size() > 1 && !alike) {
      history.complete = false;
      return;
    }
    const auto at = [](const std::vector<double>& values, size_t i) { return values[values.size() == 1 ? 0 : i]; };
    const size_t columns =
        std::max({history.scale.size(), history.offset.size(), options_.mean.size(), options_.std.size()});
    std::vector<double> scale, offset;
    for (size_t i = 0; i < columns; ++i) {
      scale.push_back(at(history.scale, i) * at(options_.std, i));
      offset.push_back(at(history.offset, i) * at(options_.std, i) + at(options_.mean, i));
    }
    history.scale = std::move(scale);
    history.offset = std::move(offset);
  }

 private:
  struct Part {
    size_t field, column;  // the column in mean_ and deviation_ where the field begins
    DType dtype;           // of the values before
    std::string name;
  };

  template <class From, class To>
  void normalize_rows(const Part& part, const RowBlock& from, RowBlock& to) const {
    const int64_t columns = to.spec().fields[part.field].shape.elements();
    for (int64_t row = 0; row < to.size(); ++row) {
      normalize_row(from.row<From>(part.field, row), to.row<To>(part.field, row), mean_.data() + part.column,
                    deviation_.data() + part.column, columns);
    }
  }

  static std::vector<double> for_each_column(std::string_view key, const std::vector<double>& given, size_t columns) {
    if (given.size() == 1) return std::vector<double>(columns, given[0]);
    if (given.size() == columns) return given;
    throw ConfigError(cat(key, ": expected one number or ", columns, ", one for each column, got ", given.size()));
  }

  Options options_;
  std::vector<Part> parts_;
  std::vector<double> mean_, deviation_;
  std::vector<size_t> widened_;  // fields
  SharedRowSpec spec_;           // of the changed rows; null if no field is widened
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(normalize, Normalize);
