// vocabulary: turns texts into numbers, by their place in a list that the configuration holds.
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

enum class UnknownText : uint8_t { error, code };
template <>
struct EnumNames<UnknownText> {
  static constexpr std::pair<std::string_view, UnknownText> kNames[] = {{"error", UnknownText::error},
                                                                        {"code", UnknownText::code}};
};

namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Codes = std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>>;

class Vocabulary final : public Transform {
 public:
  struct Options {
    std::string field;
    std::vector<std::string> texts;
    std::string as;
    UnknownText unknown = UnknownText::error;

    void declare(OptionReader& o) {
      o.required("field", field, "the field with the texts, of type string");
      o.required("texts", texts, "the texts that are known: the first becomes 0, the next 1, and so on");
      o.required("as", as, "the name of the new field, int32 with as many columns");
      o.optional("unknown", unknown, "what any other text is: an error, or one more code, the same for all such texts");
      if (o.reading() && texts.empty()) throw o.node("texts").error("expected at least one text, got an empty list");
    }
  };
  static constexpr std::string_view kDoc = "texts as numbers, by their place in a list";
  static constexpr std::string_view kExample = "field: colour, texts: [blue, green, red], as: colour_code";

  // For a label, every text is a class, and any other text is an error.
  static std::optional<Spec> suit(FoundField& field) {
    if (!field.has(FoundField::Holds::texts) || field.texts.empty()) return {};
    const std::string texts = std::exchange(field.field, field.label ? field.about : field.about + "_code");
    field.holds = FoundField::Holds::codes;
    field.classes = std::ssize(field.texts) + (field.label ? 0 : 1);
    return Spec::map({{"field", texts},
                      {"as", field.field},
                      {"texts", OptionType<std::vector<std::string>>::write(field.texts)},
                      {"unknown", field.label ? "error" : "code"}});
  }

  explicit Vocabulary(Options options) : options_(std::move(options)) {}

  Port bind(const BindArgs& args) override {
    int32_t code = 0;
    for (const std::string& text : options_.texts) {
      if (!codes_.emplace(text, code++).second) {
        throw ConfigError(cat("the text ", quote(text), " is listed twice in texts"));
      }
    }
    Port out = args.inputs[0];
    from_ = field_index(out.rows, options_.field);
    const FieldSpec& field = out.rows.fields[from_];
    if (!field.text || field.ragged()) {
      throw ConfigError(cat("vocabulary takes fields of type string, ", field.name, " is ", field.type_text()), {},
                        field.text ? cat("put pad: {fields: ", field.name, ", length: ..} before it")
                                   : cat("decode it so: {", field.name, ": {columns: .., type: string}}"));
    }
    columns_ = field.shape.elements();
    to_ = add_field(out.rows, {options_.as, DType::i32, Shape{columns_}});
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    copy_fields(chunk, spec_);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      const Varying& texts = std::as_const(chunk.rows).varying(from_, row);
      int32_t* codes = chunk.rows.row<int32_t>(to_, row);
      for (int64_t i = 0; i < columns_; ++i) {
        const std::string_view text = texts.text(static_cast<size_t>(i));
        const auto found = codes_.find(text);
        if (found == codes_.end() && options_.unknown == UnknownText::error) {
          return chunk.fail(row, std::make_exception_ptr(unknown_error(text)));
        }
        codes[i] = found != codes_.end() ? found->second : static_cast<int32_t>(options_.texts.size());
      }
    }
  }

  void to_onnx(OnnxRows& rows) const override {
    OnnxGraph& graph = rows.graph();
    std::vector<int64_t> codes(options_.texts.size());
    std::iota(codes.begin(), codes.end(), 0);
    const bool refuses = options_.unknown == UnknownText::error;
    const int64_t other = refuses ? -1 : std::ssize(options_.texts);
    const OnnxValue code =
        graph.add_ml("LabelEncoder", {rows.tensor(options_.field)},
                     {{"keys_strings", options_.texts}, {"values_int64s", codes}, {"default_int64", other}});
    if (refuses) rows.refuse(graph.add("Less", {code, graph.constant(int64_t{0})}));
    rows.set({options_.as, DType::i32, Shape{columns_}}, graph.cast(code, OnnxType::i32));
  }

  std::optional<std::vector<std::string>> concerned_fields() const override {
    return std::vector{options_.field, options_.as};
  }

  void undo(FieldHistory& history) const override {
    if (history.field != options_.as) return;
    history.field = options_.field;
    history.texts = options_.texts;
  }

 private:
  DataError unknown_error(std::string_view text) const {
    const std::string near = nearest(text, options_.texts);
    return DataError(cat("the field ", options_.field, " holds ", quote(text), ", which is none of its ",
                         count_of(std::ssize(options_.texts), "text")),
                     {},
                     near.empty() ? "add it to texts, or set unknown: code" : cat("did you mean ", quote(near), '?'));
  }

  const Options options_;
  Codes codes_;
  size_t from_ = 0, to_ = 0;
  int64_t columns_ = 0;
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(vocabulary, Vocabulary);
