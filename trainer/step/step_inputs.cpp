#include "millrace/trainer/step/step_inputs.h"

#include <cmath>
#include <limits>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

constexpr ValueRange kWeights{
    .min = 0, .max = std::numeric_limits<double>::infinity(), .hint = "a row of weight 0 does not count"};

// Why no step can read the field.
std::string unfit(const FieldSpec& field) {
  return cat("which is ", field.type_text(), ": ",
             field.ragged() ? "a step reads the same number of values from every row" : "a step reads numbers");
}

std::string fit_hint(const FieldSpec& field) {
  return field.ragged() && !field.text ? cat("put pad: {fields: ", field.name, ", length: ..} after the batch") : "";
}

size_t find_field(const RowSpec& rows, std::string_view name, std::string_view reader) {
  const int index = rows.find(name);
  if (index < 0) {
    std::vector<std::string> names;
    for (const FieldSpec& field : rows.fields) names.push_back(field.name);
    const std::string near = nearest(name, names);
    throw ConfigError(
        cat(reader, " reads the field ", quote(name), ", but the input gives ", rows.text()), {},
        near.empty() ? cat("call a field of the input ", name, " (decode_csv: {fields: {", name, ": ..}}), or set from")
                     : cat("did you mean ", near, "?"));
  }
  const FieldSpec& field = rows.fields[static_cast<size_t>(index)];
  if (field.varies())
    throw ConfigError(cat(reader, " reads the field ", name, ", ", unfit(field)), {}, fit_hint(field));
  return static_cast<size_t>(index);
}

size_t find_weight(const RowSpec& rows, std::string_view name) {
  const size_t index = find_field(rows, name, "the loss's weight");
  const FieldSpec& field = rows.fields[index];
  if (field.shape.elements() == 1) return index;
  throw ShapeError(
      cat("the field ", field.name, " of row weights is ", field.tensor().text(), ", expected one number per row"));
}

double number_at(const ConstTensorView& rows, int64_t row, int64_t column) {
  double number = 0;
  with_number_type(rows.dtype(), [&](auto type) {
    number = static_cast<double>(rows.as<decltype(type)>()[row * rows.stride() + column]);
  });
  return number;
}

}  // namespace

std::vector<NamedSpec> named_specs(const RowSpec& rows) {
  std::vector<NamedSpec> out;
  for (const FieldSpec& field : rows.fields) {
    if (field.varies()) {
      out.push_back({.name = field.name, .unfit = unfit(field), .hint = fit_hint(field)});
    } else {
      out.push_back({.name = field.name, .spec = field.tensor()});
    }
  }
  return out;
}

StepFields::StepFields(const StepFieldsArgs& args) : model_fields_(args.model.fields().size()) {
  const auto add = [&](size_t index, DType dtype, std::optional<ValueRange> range = {}, bool keeps = false) {
    sources_.push_back({&args.rows.fields[index], index, dtype, range, keeps});
  };
  for (const NamedSpec& wanted : args.model.fields()) {
    const size_t index = find_field(args.rows, wanted.name, "the model");
    const FieldSpec& field = args.rows.fields[index];
    if (field.shape != wanted.spec.shape) {
      throw ShapeError(cat("the model reads the field ", wanted.name, " as ", wanted.spec.text(), ", the input gives ",
                           field.tensor().text()),
                       {}, "select as many columns as in the training");
    }
    add(index, wanted.spec.dtype, wanted.range);
  }
  if (args.loss == nullptr) return;
  const size_t label = find_field(args.rows, args.label, "the loss");
  label_ = args.rows.fields[label].tensor();
  args.loss->check(args.model.output(), label_);
  const LabelSpec wanted = args.loss->label(args.model.output());
  label_.dtype = wanted.dtype;
  add(label, wanted.dtype, wanted.range, args.keeps_label);
  weighted_ = !args.weight.empty();
  trains_ = args.trains;
  if (weighted_) add(find_weight(args.rows, args.weight), DType::f32, kWeights, args.keeps_label);
}

StepInputs::StepInputs(const StepFields& fields, Device device, int64_t rows)
    : model_fields_(fields.model_fields_), checks_weightless_(fields.weighted_ && fields.trains_) {
  for (const StepFields::Source& source : fields.sources_) {
    indices_.push_back(source.index);
    inputs_.emplace_back(FieldInputArgs{.device = device,
                                        .field = *source.field,
                                        .dtype = source.dtype,
                                        .rows = rows,
                                        .range = source.range,
                                        .keeps = source.keeps});
    shapes_.push_back(inputs_.back().shape());
  }
  views_.resize(inputs_.size());
}

void StepInputs::load(Context& context, const RowBlock& batch) {
  error_row_ = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    try {
      views_[i] = inputs_[i].load(context, batch.view(indices_[i]), batch.pinned());
    } catch (const DataError&) {
      error_row_ = inputs_[i].error_row();
      context.synchronize();
      throw;
    }
  }
  if (!checks_weightless_) return;
  try {
    check_weightless(batch);
  } catch (const DataError&) {
    context.synchronize();
    throw;
  }
}

void StepInputs::check_weightless(const RowBlock& batch) {
  const ConstTensorView weights = batch.view(indices_.back());
  for (int64_t row = 0; row < batch.size(); ++row) {
    if (number_at(weights, row, 0) != 0) continue;
    for (size_t i = 0; i < model_fields_; ++i) {
      const ConstTensorView field = batch.view(indices_[i]);
      for (int64_t column = 0; column < field.columns(); ++column) {
        const double value = number_at(field, row, column);
        if (std::isfinite(value)) continue;
        error_row_ = row;
        throw DataError(cat("the field ", inputs_[i].name(), " holds ", value,
                            " in a row of weight 0, which would make ", "every gradient nan"),
                        {}, "leave such rows out, or give missing values a default in decode_csv");
      }
    }
  }
}

size_t StepInputs::bytes() const {
  size_t total = 0;
  for (const FieldInput& input : inputs_) total += input.bytes();
  return total;
}

}  // namespace millrace
