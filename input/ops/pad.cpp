// pad: makes ragged fields as long as the longest of their batch, or all of one length.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

class Pad final : public Transform {
 public:
  struct Options {
    std::optional<std::vector<std::string>> fields;
    int64_t multiple_of = 1;
    std::optional<int64_t> length;

    void declare(OptionReader& o) {
      o.optional("fields", fields, "the ragged fields to fill up; absent: all of them");
      o.optional("multiple_of", multiple_of, {.min = 1, .max = kMost},
                 "the length is the length of the batch's longest row, rounded up to a multiple of this");
      o.optional("length", length, {.min = 1, .max = kMost},
                 "the length of all batches, as a model needs it; a longer row is an error");
      if (o.reading() && length && multiple_of > 1) {
        throw o.node("multiple_of").error("multiple_of has no effect with a length", "leave one of them out");
      }
    }

   private:
    static constexpr double kMost = 1 << 24;
  };
  static constexpr std::string_view kDoc = "fills ragged fields up with 0 or \"\" to one length";
  static constexpr std::string_view kExample = "length: 16";

  explicit Pad(Options options) : options_(std::move(options)) {}

  // Without a list it fills up all ragged fields that there are.
  std::optional<std::vector<std::string>> concerned_fields() const override {
    return options_.fields.value_or(std::vector<std::string>());
  }

  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    if (out.batch_size == 0 && !options_.length) {
      throw ConfigError(
          cat(args.name, " fills up to the longest row of a batch, but stands before the op that makes batches"), {},
          "put it after batch or shuffle_batch, or set a length");
    }
    find_fields(out.rows);
    if (options_.length) {
      for (const size_t field : fields_) {
        out.rows.fields[field].shape = Shape{*options_.length};
        out.rows.fields[field].split.reset();
      }
    }
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    if (!options_.length) {
      for (const size_t field : fields_) fill_up(chunk.rows, field, longest(chunk.rows, field));
      return;
    }
    cut_at_too_long(chunk);
    copy_fields(chunk, spec_, fields_);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      for (const size_t field : fields_) copy_padded(chunk.spare, chunk.rows, field, row);
    }
  }

  void to_onnx(OnnxRows& rows) const override {
    if (!options_.length) throw ConfigError("without a length it cannot be written as ONNX", {}, "set length: ..");
    OnnxGraph& graph = rows.graph();
    for (const size_t index : fields_) {
      const FieldSpec& field = spec_->fields[index];
      const auto& [values, counts] = rows.ragged(field.name);
      rows.refuse(graph.add("Greater", {counts, graph.constant(*options_.length)}));
      const OnnxValue batch = graph.add("Shape", {values}, {{"end", int64_t{1}}});
      const OnnxValue sizes = graph.add("Concat", {batch, graph.list({*options_.length})}, {{"axis", int64_t{0}}});
      const OnnxValue zero = field.text ? graph.text("") : graph.cast(graph.constant(0.0F), onnx_type(field.dtype));
      const OnnxValue filled =
          graph.add("Concat", {values, graph.add("Expand", {zero, sizes})}, {{"axis", int64_t{1}}});
      const OnnxValue cut =
          graph.add("Slice", {filled, graph.list({0}), graph.list({*options_.length}), graph.list({1})});
      rows.set(field, cut);
    }
  }

 private:
  void find_fields(const RowSpec& rows) {
    if (options_.fields) {
      for (const std::string& name : *options_.fields) {
        const size_t index = field_index(rows, name);
        const FieldSpec& field = rows.fields[index];
        if (!field.ragged()) {
          throw ConfigError(cat("pad fills up ragged fields, ", name, " is ", field.type_text()), {},
                            "decode_csv makes a field ragged if the field has a split");
        }
        if (std::count(options_.fields->begin(), options_.fields->end(), name) > 1) {
          throw ConfigError(cat("the field ", quote(name), " is named twice"));
        }
        fields_.push_back(index);
      }
      if (fields_.empty()) {
        throw ConfigError("fields is an empty list", {}, "leave it out to fill up all ragged fields");
      }
      return;
    }
    for (size_t i = 0; i < rows.fields.size(); ++i) {
      if (rows.fields[i].ragged()) fields_.push_back(i);
    }
    if (fields_.empty()) {
      throw ConfigError(cat("there is no ragged field to fill up in ", rows.text()), {},
                        "decode_csv makes a field ragged if the field has a split");
    }
  }

  static size_t count(const RowBlock& rows, size_t field, int64_t row) {
    const FieldSpec& spec = rows.spec().fields[field];
    const Varying& values = rows.varying(field, row);
    return spec.text ? values.texts() : values.bytes() / size_of(spec.dtype);
  }

  size_t longest(const RowBlock& rows, size_t field) const {
    size_t most = 0;
    for (int64_t row = 0; row < rows.size(); ++row) most = std::max(most, count(rows, field, row));
    const auto step = static_cast<size_t>(options_.multiple_of);
    return (most + step - 1) / step * step;
  }

  static void fill_up(RowBlock& rows, size_t field, size_t length) {
    const FieldSpec& spec = rows.spec().fields[field];
    for (int64_t row = 0; row < rows.size(); ++row) {
      Varying& values = rows.varying(field, row);
      for (size_t i = count(rows, field, row); i < length; ++i) {
        if (spec.text) {
          values.add_text({});
        } else {
          with_number_type(spec.dtype, [&](auto zero) { values.add_number(zero); });
        }
      }
    }
  }

  // The first row that is too long is the chunk's error; before a batch, the rows before it still come.
  void cut_at_too_long(Chunk& chunk) const {
    const auto most = static_cast<size_t>(*options_.length);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      for (const size_t field : fields_) {
        const size_t values = count(chunk.rows, field, row);
        if (values <= most) continue;
        chunk.fail(row, std::make_exception_ptr(DataError(cat("the field ", spec_->fields[field].name, " has ",
                                                              count_of(static_cast<int64_t>(values), "value"),
                                                              ", more than pad's length ", most))));
        return chunk.rows.resize(row);
      }
    }
  }

  void copy_padded(const RowBlock& from, RowBlock& to, size_t field, int64_t row) const {
    const auto length = static_cast<size_t>(*options_.length);
    const FieldSpec& spec = spec_->fields[field];
    if (spec.text) {
      to.varying(field, row) = from.varying(field, row);
      for (size_t i = count(from, field, row); i < length; ++i) to.varying(field, row).add_text({});
      return;
    }
    with_number_type(spec.dtype, [&](auto zero) {
      const auto values = from.varying(field, row).numbers<decltype(zero)>();
      auto* out = to.row<decltype(zero)>(field, row);
      std::fill(std::copy(values.begin(), values.end(), out), out + length, zero);
    });
  }

  const Options options_;
  std::vector<size_t> fields_;
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(pad, Pad);
