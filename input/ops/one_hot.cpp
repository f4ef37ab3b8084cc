// one_hot: turns a class number into a vector of 0 with a 1 at that place; the vectors of several columns stand side by
// side.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

constexpr int64_t kMost = 16777216;  // values of a row

class OneHot final : public Transform {
 public:
  struct Options {
    std::string field;
    int64_t classes = 0;
    std::string as;

    void declare(OptionReader& o) {
      o.required("field", field,
                 "the field with the class, an integer from 0; if it has several columns, all have the same classes");
      o.required("classes", classes, {.min = 1, .max = static_cast<double>(kMost)}, "how many classes there are");
      o.required("as", as,
                 "the name of the new float32 field: for each column of the field, one column for each class");
    }
  };
  static constexpr std::string_view kDoc = "a class number as a vector of 0 with a 1 at that place";
  static constexpr std::string_view kExample = "field: colour, classes: 3, as: colours";

  static std::optional<Spec> suit(FoundField& field) {
    if (!field.has(FoundField::Holds::codes) || field.label) return {};
    const std::string codes = std::exchange(field.field, field.about + "_class");
    field.holds = FoundField::Holds::amounts;
    field.scaled = true;
    field.width *= field.classes;
    return Spec::map({{"field", codes}, {"classes", field.classes}, {"as", field.field}});
  }

  explicit OneHot(Options options) : options_(std::move(options)) {}

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    from_ = field_index(out.rows, options_.field);
    const FieldSpec& field = out.rows.fields[from_];
    if (field.varies())
      throw ConfigError(cat("one_hot takes int32, int64 and uint8 fields, ", field.name, " is ", field.type_text()));
    if (!is_integer(field.dtype)) {
      throw ConfigError(cat("one_hot takes int32, int64 and uint8 fields, ", field.name, " is ", field.type_name()), {},
                        cat("decode it so: {", field.name, ": {columns: .., type: int32}}"));
    }
    columns_ = field.shape.elements();
    if (columns_ * options_.classes > kMost) {
      throw ConfigError(
          cat(columns_, " columns of ", options_.classes, " classes each are more than ", kMost, " values"));
    }
    to_ = add_field(out.rows, {options_.as, DType::f32, Shape{columns_ * options_.classes}});
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    copy_fields(chunk, spec_);
    switch (spec_->fields[from_].dtype) {
      case DType::i32: return write_rows<int32_t>(chunk);
      case DType::u8: return write_rows<uint8_t>(chunk);
      default: write_rows<int64_t>(chunk);
    }
  }

  void to_onnx(OnnxRows& rows) const override {
    OnnxGraph& graph = rows.graph();
    const OnnxValue wanted = graph.cast(rows.tensor(options_.field), OnnxType::i64);
    const OnnxValue beyond = graph.add("GreaterOrEqual", {wanted, graph.constant(options_.classes)});
    rows.refuse(graph.add("Or", {graph.add("Less", {wanted, graph.constant(int64_t{0})}), beyond}));
    const OnnxValue hot =
        graph.cast(graph.add("OneHot", {wanted, graph.constant(options_.classes), graph.list({0, 1})}), OnnxType::f32);
    const Shape shape{columns_ * options_.classes};
    rows.set({options_.as, DType::f32, shape}, graph.reshape(hot, shape));
  }

  std::optional<std::vector<std::string>> concerned_fields() const override {
    return std::vector{options_.field, options_.as};
  }

 private:
  template <class T>
  void write_rows(Chunk& chunk) const {
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      float* values = chunk.rows.row<float>(to_, row);
      std::fill_n(values, columns_ * options_.classes, 0.0F);
      for (int64_t column = 0; column < columns_; ++column, values += options_.classes) {
        const int64_t wanted = chunk.rows.row<T>(from_, row)[column];
        if (wanted < 0 || wanted >= options_.classes) return refuse(chunk, row, wanted);
        values[wanted] = 1;
      }
    }
  }

  void refuse(Chunk& chunk, int64_t row, int64_t value) const {
    chunk.fail(
        row,
        std::make_exception_ptr(DataError(
            cat("the field ", options_.field, " holds ", value, ", expected a class from 0 to ", options_.classes - 1),
            {}, value == options_.classes ? "if classes begin at 1, put map: {offset: -1} before" : "")));
  }

  const Options options_;
  size_t from_ = 0, to_ = 0;
  int64_t columns_ = 1;
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(one_hot, OneHot);
