// one_hot: a class number as a vector of 0 with a 1 at that place.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/new_field.h"
#include "millrace/input/numbers.h"

namespace millrace {
namespace {

class OneHot final : public Transform {
 public:
  struct Options {
    std::string field;
    int64_t classes = 0;
    std::string as;

    void declare(OptionReader& o) {
      o.required("field", field, "the field with the class, from 0 on; one integer column");
      o.required("classes", classes, {.min = 1, .max = 16777216}, "how many classes there are");
      o.required("as", as, "the name of the new field, float32 of as many columns");
    }
  };
  static constexpr std::string_view kDoc = "a class number as a vector of 0 with a 1 at that place";
  static constexpr std::string_view kExample = "field: colour, classes: 3, as: colours";

  explicit OneHot(Options options) : options_(std::move(options)) {}

  std::vector<PortType> inputs() const override { return {PortType::rows}; }

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    from_ = single_field(out.rows, options_.field);
    const DType dtype = out.rows.fields[from_].dtype;
    if (dtype != DType::i32 && dtype != DType::i64) {
      throw ConfigError(
          cat("one_hot takes int32 and int64 fields, ", options_.field, " is ", out.rows.fields[from_].type_name()), {},
          cat("decode it so: {", options_.field, ": {columns: .., type: int32}}"));
    }
    to_ = add_field(out.rows, {options_.as, DType::f32, Shape{options_.classes}});
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    copy_fields(chunk, spec_);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      const int64_t wanted = spec_->fields[from_].dtype == DType::i32 ? *chunk.rows.row<int32_t>(from_, row)
                                                                      : *chunk.rows.row<int64_t>(from_, row);
      if (wanted < 0 || wanted >= options_.classes) {
        chunk.fail(row,
                   std::make_exception_ptr(DataError(
                       cat("the field ", options_.field, " holds ", wanted, ", expected a class from 0 to ",
                           options_.classes - 1),
                       {}, wanted == options_.classes ? "if classes begin at 1, put map: {offset: -1} before" : "")));
        return;
      }
      float* values = chunk.rows.row<float>(to_, row);
      std::fill_n(values, options_.classes, 0.0F);
      values[wanted] = 1;
    }
  }

 private:
  const Options options_;
  size_t from_ = 0, to_ = 0;
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(one_hot, OneHot);
