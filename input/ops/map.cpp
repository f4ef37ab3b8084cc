// map: value * scale + offset for every value of a field, in place or as a new field.
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

class Map final : public Transform {
 public:
  struct Options {
    std::string field;
    double scale = 1, offset = 0;
    std::optional<std::string> as;

    void declare(OptionReader& o) {
      o.required("field", field, "the field");
      o.optional("scale", scale, {.min = -1e300, .max = 1e300}, "what each value is multiplied by");
      o.optional("offset", offset, {.min = -1e300, .max = 1e300}, "what is added after that");
      o.optional("as", as, "the name of a new field with the results; absent: they replace the field's values");
    }
  };
  static constexpr std::string_view kDoc =
      "computes value * scale + offset for every value of a field, in the field's type";
  static constexpr std::string_view kExample = "field: label, offset: -1";

  explicit Map(Options options) : options_(std::move(options)) {}

  std::optional<std::vector<std::string>> concerned_fields() const override {
    return std::vector{options_.field, options_.as.value_or(options_.field)};
  }

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    from_ = to_ = field_index(out.rows, options_.field);
    const FieldSpec field = out.rows.fields[from_];
    if (field.text) throw ConfigError(cat("map computes with numbers, ", field.name, " is ", field.type_text()));
    if (is_integer(field.dtype)) {
      scale_ = whole("scale", options_.scale, field);
      offset_ = whole("offset", options_.offset, field);
    }
    if (options_.as) {
      FieldSpec result = field;
      result.name = *options_.as;
      to_ = add_field(out.rows, std::move(result));
      spec_ = std::make_shared<const RowSpec>(out.rows);
    }
    return out;
  }

  void apply(Chunk& chunk) const override {
    if (options_.as) copy_fields(chunk, spec_);
    const FieldSpec& field = chunk.rows.spec().fields[from_];
    with_number_type(field.dtype, [&](auto type) {
      using T = decltype(type);
      for (int64_t row = 0; row < chunk.rows.size(); ++row) {
        if (field.ragged() && to_ != from_) chunk.rows.varying(to_, row) = chunk.rows.varying(from_, row);
        const std::span<const T> from = std::as_const(chunk.rows).numbers<T>(from_, row);
        const std::span<T> to = chunk.rows.numbers<T>(to_, row);
        for (size_t i = 0; i < from.size(); ++i) {
          if (const std::optional<T> result = compute(from[i])) {
            to[i] = *result;
          } else {
            return fail(chunk, row, cat(from[i]));
          }
        }
      }
    });
  }

  void to_onnx(OnnxRows& rows) const override {
    OnnxGraph& graph = rows.graph();
    FieldSpec field = *rows.find(options_.field);
    const OnnxValue before = rows.tensor(options_.field);
    const OnnxValue scaled = graph.add("Mul", {graph.cast(before, OnnxType::f64), graph.constant(options_.scale)});
    OnnxValue after = graph.add("Add", {scaled, graph.constant(options_.offset)});
    if (is_integer(field.dtype)) {
      refuse_beyond(field.dtype, after, rows);
      const OnnxValue whole = graph.add("Mul", {graph.cast(before, OnnxType::i64), graph.constant(scale_)});
      after = graph.add("Add", {whole, graph.constant(offset_)});
    }
    const OnnxType type = onnx_type(field.dtype);
    field.name = options_.as.value_or(options_.field);
    rows.set(std::move(field), graph.cast(after, type));
  }

  void undo(FieldHistory& history) const override {
    if (history.field != options_.as.value_or(options_.field)) return;
    history.field = options_.field;
    if (options_.scale == 0) history.complete = false;
    if (!history.complete) return;
    for (double& scale : history.scale) scale /= options_.scale;
    for (double& offset : history.offset) offset = (offset - options_.offset) / options_.scale;
  }

 private:
  // Results out of the type's range. A double knows these well enough: it has fewer digits than int64 only for results
  // that are far from small.
  static void refuse_beyond(DType dtype, OnnxValue wide, OnnxRows& rows) {
    OnnxGraph& graph = rows.graph();
    with_number_type(dtype, [&](auto zero) {
      using Limits = std::numeric_limits<decltype(zero)>;
      const OnnxValue least = graph.constant(static_cast<double>(Limits::min()));
      const OnnxValue end = graph.constant(static_cast<double>(Limits::max()) + 1);
      rows.refuse(graph.add("Or", {graph.add("Less", {wide, least}), graph.add("GreaterOrEqual", {wide, end})}));
    });
  }

  static int64_t whole(std::string_view key, double value, const FieldSpec& field) {
    if (value == std::floor(value) && std::abs(value) < 0x1p53) return static_cast<int64_t>(value);
    if (value == std::floor(value)) throw ConfigError(cat(key, ": expected a number below 2^53, got ", value));
    throw ConfigError(
        cat(key, ": expected a whole number for the field ", field.name, " of ", field.type_text(), ", got ", value),
        {},
        field.dtype == DType::u8 ? "normalize makes float32 numbers of a uint8 field"
                                 : "read the field as float32 to scale it like that");
  }

  void fail(Chunk& chunk, int64_t row, const std::string& value) const {
    const FieldSpec& field = chunk.rows.spec().fields[from_];
    chunk.fail(
        row, std::make_exception_ptr(DataError(cat("the field ", field.name, " holds ", value,
                                                   ", whose result is out of the range of ", to_string(field.dtype)))));
  }

  // Computes floating-point numbers in double and rounds once, integers exactly. No value if the result is out of
  // range.
  template <class T>
  std::optional<T> compute(T value) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(static_cast<double>(value) * options_.scale + options_.offset);
    } else {
      // The product may be out of int64's range although the result is not.
      __extension__ using Wide = __int128;
      const Wide exact = static_cast<Wide>(value) * scale_ + offset_;
      const auto result = static_cast<T>(exact);
      const bool fits = static_cast<Wide>(result) == exact;
      return fits ? std::optional<T>(result) : std::nullopt;
    }
  }

  const Options options_;
  int64_t scale_ = 1, offset_ = 0;  // for integers
  size_t from_ = 0, to_ = 0;
  SharedRowSpec spec_;  // set if the option `as` is
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(map, Map);
