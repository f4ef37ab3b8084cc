#include "millrace/trainer/step/step_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/layers/inputs/widen.h"

namespace millrace {

namespace {

// The range of row weights other than 0. Their sum over any batch, and their products with usual gradients, fit into a
// float.
constexpr float kLeastWeight = 1e-20F, kMostWeight = 1e20F;

// Says why no step can read the field.
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

// The value as To, or nothing when To is an integer type that cannot hold it.
template <class To, class From>
std::optional<To> exactly(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double wide = static_cast<double>(value);
    // Both bounds are exact doubles: -2^31 or -2^63, and one above the largest value.
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    if (!(wide >= low && wide < -low) || wide != std::floor(wide)) return std::nullopt;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(value)) return std::nullopt;
  }
  return static_cast<To>(value);
}

// The first value that cannot be used: its row, its text, and the reason.
struct Misfit {
  int64_t row = -1;  // -1: there is none
  std::string text;
  bool outside = false;  // outside of the range; else the type To cannot hold it
};

bool lies_in(const ValueRange& range, double value) {
  return std::isfinite(value) && value >= range.min && value <= range.max;
}

bool has_weight(const ConstTensorView& weights, int64_t row) {
  return !weights || weights.as<float>()[row * weights.stride()] != 0;
}

// Checks every value as To, up to the first misfit, and stores it in `to` unless that is null. In a row of weight 0, a
// value of the range replaces a misfit, so that the step never reads a value that makes no sense. If `weights` is null,
// all rows count.
template <class To, class From>
Misfit take_rows(ConstTensorView from, const std::optional<ValueRange>& range, TensorView to, ConstTensorView weights) {
  for (int64_t row = 0; row < from.rows(); ++row) {
    const From* source = from.as<From>() + row * from.stride();
    To* target = to ? to.as<To>() + row * to.stride() : nullptr;
    for (int64_t column = 0; column < from.columns(); ++column) {
      std::optional<To> value = exactly<To>(source[column]);
      const bool outside = value && range && !lies_in(*range, static_cast<double>(*value));
      if (!value || outside) {
        if (has_weight(weights, row)) return {row, cat(source[column]), outside};
        value = static_cast<To>(range ? std::clamp(0.0, range->min, range->max) : 0.0);
      }
      if (target != nullptr) target[column] = *value;
    }
  }
  return {};
}

std::string text_of(const ValueRange& range) {
  if (!std::isfinite(range.min)) return "a finite number";
  if (!std::isfinite(range.max)) return cat("a finite number of at least ", range.min);
  return cat("at least ", range.min, " and at most ", range.max);
}

// `rows` are not converted yet, because float32 could round a number to 0.
void check_weights(const std::string& name, const ConstTensorView& rows) {
  with_number_type(rows.dtype(), [&](auto type) {
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const auto weight = rows.as<decltype(type)>()[row * rows.stride()];
      const auto number = static_cast<double>(weight);
      const bool fits = number >= static_cast<double>(kLeastWeight) && number <= static_cast<double>(kMostWeight);
      if (fits || number == 0) continue;
      throw RowError(row, cat("the field ", name, " holds ", weight, ", expected 0 or a number from 1e-20 to 1e+20"),
                     "only the ratios of row weights matter; a row of weight 0 does not count");
    }
  });
}

// Fills `to` from the host's memory.
void copy_to(Context& context, const Memory& to, const void* host, bool pinned) {
  if (pinned) return context.copy_async(to.data(), host, to.bytes());
  context.copy(to.data(), host, to.bytes());
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
  const auto add = [&](size_t index, DType dtype, std::optional<ValueRange> range, bool keeps, bool weighted) {
    uses_.push_back({args.rows.fields[index], index, dtype, range, keeps, weighted});
  };
  for (const NamedSpec& wanted : args.model.fields()) {
    const size_t index = find_field(args.rows, wanted.name, "the model");
    const FieldSpec& field = args.rows.fields[index];
    if (field.shape != wanted.spec.shape) {
      throw ShapeError(cat("the model reads the field ", wanted.name, " as ", wanted.spec.text(), ", the input gives ",
                           field.tensor().text()),
                       {}, "select as many columns as in the training");
    }
    add(index, wanted.spec.dtype, wanted.range, false, false);
  }
  if (args.loss == nullptr) return;
  const size_t label = find_field(args.rows, args.label, "the loss");
  label_ = args.rows.fields[label].tensor();
  const LabelSpec wanted = attributed(*args.loss, [&] {
    args.loss->check(args.model.output(), label_);
    const LabelSpec answer = args.loss->label(args.model.output());
    (void)size_of(answer.dtype);  // throws if there is no such type
    return answer;
  });
  label_.dtype = wanted.dtype;
  weighted_ = !args.weight.empty();
  trains_ = args.trains;
  add(label, wanted.dtype, wanted.range, args.keeps_label, weighted_);
  if (weighted_) add(find_weight(args.rows, args.weight), DType::f32, {}, args.keeps_label, false);
}

FieldInput::FieldInput(const FieldUse& use, Device device, int64_t rows) : name_(use.field.name), range_(use.range) {
  const size_t row_bytes = aligned_bytes(size_of(use.dtype) * static_cast<size_t>(use.field.shape.elements()));
  shape_ = TensorView(nullptr, use.dtype, use.field.shape.with_batch(rows), row_bytes);
  const size_t bytes = multiply_bytes(row_bytes, static_cast<size_t>(rows));
  const bool copies = use.keeps && device.is_cpu(), replaces = use.weighted && use.range;
  // A row of a few bytes takes no less room than its numbers, so a device would gain nothing.
  const bool gains = device.is_cpu() || use.field.row_bytes() < row_bytes;
  widens_ = use.field.dtype == DType::u8 && use.dtype == DType::f32 && !use.range && gains;
  if (widens_ && !device.is_cpu()) {
    bytes_ = Memory(device, multiply_bytes(use.field.row_bytes(), static_cast<size_t>(rows)));
  } else if (use.dtype != use.field.dtype || copies || replaces) {
    converted_ = Memory::pinned(device, bytes);
  }
  if (!device.is_cpu()) device_ = Memory(device, bytes);
}

ConstTensorView FieldInput::on_host(ConstTensorView batch) const {
  const void* const values = converted_ ? converted_.data() : batch.data();
  return ConstTensorView(values, shape_.dtype(), shape_.shape(), shape_.row_bytes());
}

ConstTensorView FieldInput::load(Context& context, ConstTensorView batch, bool pinned, ConstTensorView weights) {
  if (widens_) return load_bytes(context, batch, pinned);
  if (converted_ || range_) take(batch, weights);
  const void* const host = on_host(batch).data();
  if (device_) copy_to(context, device_, host, converted_ || pinned);
  return shape_.at(device_ ? device_.data() : host);
}

ConstTensorView FieldInput::load_bytes(Context& context, ConstTensorView batch, bool pinned) {
  const TensorView wide = shape_.at(device_ ? device_.data() : converted_.data());
  if (bytes_) {
    copy_to(context, bytes_, batch.data(), pinned);
    batch = batch.at(bytes_.data());
  }
  widen(context, batch, wide);
  return wide;
}

void FieldInput::take(ConstTensorView from, ConstTensorView weights) const {
  const TensorView to(converted_.data(), shape_.dtype(), shape_.shape(), shape_.row_bytes());
  Misfit misfit;
  with_number_type(from.dtype(), [&](auto source) {
    with_number_type(to.dtype(), [&](auto target) {
      misfit = take_rows<decltype(target), decltype(source)>(from, range_, to, weights);
    });
  });
  if (misfit.row < 0) return;
  const std::string found = cat("the field ", name_, " holds ", misfit.text, ", expected ");
  if (misfit.outside) throw RowError(misfit.row, found + text_of(*range_), range_->hint);
  throw RowError(misfit.row, cat(found, "a whole number of type ", to_string(to.dtype())),
                 "class labels and ids are whole numbers");
}

StepInputs::StepInputs(const StepFields& fields, Device device, int64_t rows)
    : model_fields_(fields.model_fields_), checks_weightless_(fields.weighted_ && fields.trains_) {
  for (const FieldUse& use : fields.uses_) {
    indices_.push_back(use.index);
    inputs_.emplace_back(use, device, rows);
    shapes_.push_back(inputs_.back().shape());
  }
  views_.resize(inputs_.size());
}

void StepInputs::load(Context& context, const RowBlock& batch) {
  const auto bring = [&](size_t i, ConstTensorView weights = {}) {
    views_[i] = inputs_[i].load(context, batch.view(indices_[i]), batch.pinned(), weights);
  };
  try {
    for (size_t i = 0; i < model_fields_; ++i) bring(i);
    const size_t label = model_fields_, weight = label + 1;
    // The weights come before the labels, because labels are checked only in rows that count.
    ConstTensorView weights;
    if (weight < inputs_.size()) {
      check_weights(inputs_[weight].name(), batch.view(indices_[weight]));
      bring(weight);
      weights = inputs_[weight].on_host(batch.view(indices_[weight]));
    }
    if (label < inputs_.size()) bring(label, weights);
    if (checks_weightless_) check_weightless(batch, weights);
  } catch (const RowError&) {
    context.synchronize();
    throw;
  }
}

void StepInputs::check_weightless(const RowBlock& batch, const ConstTensorView& weights) const {
  for (int64_t row = 0; row < batch.size(); ++row) {
    if (has_weight(weights, row)) continue;
    for (size_t i = 0; i < model_fields_; ++i) {
      const ConstTensorView field = batch.view(indices_[i]);
      for (int64_t column = 0; column < field.columns(); ++column) {
        const double value = number_at(field, row, column);
        if (std::isfinite(value)) continue;
        throw RowError(row,
                       cat("the field ", inputs_[i].name(), " holds ", value,
                           " in a row of weight 0, which would make every gradient nan"),
                       "leave such rows out, or give missing values a default in decode_csv");
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
