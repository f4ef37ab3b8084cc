// filter: leaves out the rows for which a comparison does not hold.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/source.h"

namespace millrace {

enum class Comparison : uint8_t { equal, unequal, less, less_or_equal, greater, greater_or_equal };
template <>
struct EnumNames<Comparison> {
  static constexpr std::pair<std::string_view, Comparison> kNames[] = {
      {"==", Comparison::equal},         {"!=", Comparison::unequal}, {"<", Comparison::less},
      {"<=", Comparison::less_or_equal}, {">", Comparison::greater},  {">=", Comparison::greater_or_equal}};
};

namespace {

// Compares as C++ does, so NaN is unequal to everything.
template <class T>
bool holds(Comparison op, T left, T right) {
  switch (op) {
    case Comparison::equal: return left == right;
    case Comparison::unequal: return left != right;
    case Comparison::less: return left < right;
    case Comparison::less_or_equal: return left <= right;
    case Comparison::greater: return left > right;
    case Comparison::greater_or_equal: return left >= right;
  }
  return false;
}

class Filter final : public Transform {
 public:
  struct Options {
    std::string field;
    Comparison op = Comparison::equal;
    Spec value;

    void declare(OptionReader& o) {
      o.required("field", field, "the field that is compared; it has one column");
      o.required("op", op, "how");
      o.required("value", value, "what it is compared with: a number, or a text for a string field");
      o.may_be("value", {{.is = OptionForm::Is::number}, {.is = OptionForm::Is::text}});
    }
  };
  static constexpr std::string_view kDoc = "keeps the rows for which a comparison holds";
  static constexpr std::string_view kExample = "field: label, op: \">=\", value: 0";

  explicit Filter(Options options) : options_(std::move(options)) {}

  Port bind(const BindArgs& args) override {
    name_ = args.name;
    field_ = single_field(args.inputs[0].rows, options_.field);
    text_ = args.inputs[0].rows.fields[field_].text;
    dtype_ = args.inputs[0].rows.fields[field_].dtype;
    if (!options_.value.is_scalar()) {
      throw options_.value.error(cat("expected a value to compare with, got ", options_.value.describe()));
    }
    if (!text_) read_number();
    // Rows that stay although they are bad may be in any row group.
    if (args.source != nullptr && !args.bad_rows_stay) {
      args.source->leave_out_others({options_.field, name_, [this](const Varying& least, const Varying& greatest) {
                                       return may_keep(least, greatest);
                                     }});
    }
    return args.inputs[0];
  }

  // Warns of a value that no row can have: the comparison then has one result for all rows.
  std::vector<std::string> warnings() const override {
    const bool byte = dtype_ == DType::u8, narrow = dtype_ == DType::i32, wide = dtype_ == DType::i64 && !whole_;
    const double end = byte ? 0x1p8 : narrow ? 0x1p31 : 0x1p63, least = byte ? 0 : -end;
    const bool outside = (byte || narrow || wide) && (value_ >= end || value_ < least);
    if (text_ || (!outside && !std::isnan(value_))) return {};
    const bool kept = holds(options_.op, 0.0, value_);
    const std::string& text = options_.value.as_string();
    return {cat("the value ", text, outside ? cat(" is out of the range of ", to_string(dtype_)) : " equals nothing",
                ": ", kept ? "every row is kept" : "no row is kept")};
  }

  void apply(Chunk& chunk) const override {
    const RowBlock& rows = chunk.rows;
    if (text_) {
      return keep_if(chunk, this, name_,
                     [&](int64_t row) { return keeps(rows.varying(field_, row).text(0), options_.op); });
    }
    with_number_type(rows.spec().fields[field_].dtype, [&](auto type) {
      keep_if(chunk, this, name_,
              [&](int64_t row) { return keeps(*rows.row<decltype(type)>(field_, row), options_.op); });
    });
  }

  std::optional<std::vector<std::string>> concerned_fields() const override { return std::vector{options_.field}; }

 private:
  void read_number() {
    const std::string& text = options_.value.as_string();
    // nan and inf may be written as in the data; all other numbers are written as in YAML.
    const bool word = !options_.value.quoted() && text.find_first_of("0123456789") == text.npos;
    if (!word || parse_number(text, value_) != NumberStatus::ok) value_ = options_.value.as_double();
    int64_t whole = 0;
    if (parse_number(text, whole) == NumberStatus::ok) whole_ = whole;
  }

  // Whether a value from `least` to `greatest` may be kept. NaN may lie anywhere.
  template <class T>
  bool may_keep(T least, T greatest) const {
    switch (options_.op) {
      case Comparison::equal:
        return keeps(least, Comparison::less_or_equal) && keeps(greatest, Comparison::greater_or_equal);
      case Comparison::unequal: return std::is_floating_point_v<T> || least != greatest || keeps(least, options_.op);
      case Comparison::less:
      case Comparison::less_or_equal: return keeps(least, options_.op);
      case Comparison::greater:
      case Comparison::greater_or_equal: return keeps(greatest, options_.op);
    }
    return true;
  }
  bool may_keep(const Varying& least, const Varying& greatest) const {
    if (text_) return may_keep(least.text(0), greatest.text(0));
    bool out = true;
    with_number_type(dtype_, [&](auto type) {
      using T = decltype(type);
      out = may_keep<T>(least.numbers<T>()[0], greatest.numbers<T>()[0]);
    });
    return out;
  }

  bool keeps(std::string_view text, Comparison op) const {
    return holds<std::string_view>(op, text, options_.value.as_string());
  }
  // Compares as if the option's value had been read as the field's type; integers are compared exactly.
  template <class T>
  bool keeps(T value, Comparison op) const {
    if constexpr (std::is_same_v<T, float>) return holds(op, value, static_cast<float>(value_));
    if constexpr (std::is_same_v<T, int64_t>) {
      if (whole_) return holds(op, value, *whole_);
      // The value is beyond every integer, so all lie on one side of it.
      if (value_ >= 0x1p63) return holds(op, 0, 1);
      if (value_ < -0x1p63) return holds(op, 1, 0);
      const double floor = std::floor(value_);
      if (!std::isnan(value_)) {
        const auto whole = static_cast<int64_t>(floor);
        // The value lies between two integers, so the integer below it is less.
        if (value == whole && floor != value_) return holds(op, 0, 1);
        return holds(op, value, whole);
      }
    }
    return holds(op, static_cast<double>(value), value_);
  }

  const Options options_;
  std::string name_;
  size_t field_ = 0;
  DType dtype_ = DType::f32;      // the type of the field's values
  bool text_ = false;             // the values are texts
  double value_ = 0;              // the number to compare with
  std::optional<int64_t> whole_;  // the same number, if it is an int64 written in digits
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(filter, Filter);
