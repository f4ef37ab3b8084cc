#include <algorithm>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

// Computes in double and rounds once, so that no digits of the mean are lost.
template <class T>
void normalize_row(T* values, const double* mean, const double* deviation, int64_t columns) {
  for (int64_t i = 0; i < columns; ++i) {
    values[i] = static_cast<T>((static_cast<double>(values[i]) - mean[i]) / deviation[i]);
  }
}

class Normalize final : public Transform {
 public:
  struct Options {
    std::vector<std::string> fields;
    std::vector<double> mean = {0}, std = {1};
    void declare(OptionReader& o) {
      o.required("fields", fields, "the fields to change, of type float32 or float64");
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
    const RowSpec& rows = args.inputs[0].rows;
    size_t columns = 0;
    for (const std::string& name : options_.fields) {
      if (std::count(options_.fields.begin(), options_.fields.end(), name) > 1) {
        throw ConfigError(cat("the field ", quote(name), " is named twice"));
      }
      const size_t index = field_index(rows, name);
      const FieldSpec& field = rows.fields[index];
      if (field.varies() || (field.dtype != DType::f32 && field.dtype != DType::f64)) {
        throw ConfigError(cat("normalize changes float32 and float64 fields, ", name, " is ", field.type_text()));
      }
      parts_.push_back({index, columns});
      columns += static_cast<size_t>(field.shape.elements());
    }
    mean_ = for_each_column("mean", options_.mean, columns);
    deviation_ = for_each_column("std", options_.std, columns);
    return args.inputs[0];
  }

  void apply(Chunk& chunk) const override {
    for (const Part& part : parts_) {
      const FieldSpec& field = chunk.rows.spec().fields[part.field];
      const double *mean = mean_.data() + part.column, *deviation = deviation_.data() + part.column;
      for (int64_t row = 0; row < chunk.rows.size(); ++row) {
        if (field.dtype == DType::f32) {
          normalize_row(chunk.rows.row<float>(part.field, row), mean, deviation, field.shape.elements());
        } else {
          normalize_row(chunk.rows.row<double>(part.field, row), mean, deviation, field.shape.elements());
        }
      }
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
  };

  static std::vector<double> for_each_column(std::string_view key, const std::vector<double>& given, size_t columns) {
    if (given.size() == 1) return std::vector<double>(columns, given[0]);
    if (given.size() == columns) return given;
    throw ConfigError(cat(key, ": expected one number or ", columns, ", one for each column, got ", given.size()));
  }

  Options options_;
  std::vector<Part> parts_;
  std::vector<double> mean_, deviation_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(normalize, Normalize);
