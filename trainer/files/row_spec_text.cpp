#include "millrace/trainer/files/row_spec_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {

namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8};
constexpr std::string_view kText = "string";
constexpr size_t kMaxFields = 4096;

struct FieldText {
  std::string name, type;
  std::vector<int64_t> shape;
  std::optional<std::string> split;

  void declare(OptionReader& o) {
    o.required("name", name, "the field's name");
    o.required("type", type, "of its values");
    o.required("shape", shape, "of one row");
    o.optional("split", split, "what stands between its values, which are as many as a row has");
  }
};

FieldSpec field_of(const FieldText& text, const Spec& place) {
  FieldSpec field;
  field.name = text.name;
  field.text = text.type == kText;
  bool known = field.text;
  for (const DType dtype : kDTypes) {
    if (text.type != to_string(dtype)) continue;
    field.dtype = dtype;
    known = true;
  }
  if (!known) throw place.error(cat("unknown type ", quote(text.type)));
  field.shape = Shape(std::span<const int64_t>(text.shape));
  if (text.split) {
    if (text.split->size() != 1) throw place.error("split is one byte");
    field.split = text.split->front();
  }
  return field;
}

}  // namespace

std::string row_spec_text(const RowSpec& rows) {
  Spec list = Spec::list(Place{});
  for (const FieldSpec& field : rows.fields) {
    FieldText text{.name = field.name, .type = std::string(field.type_name()), .shape = {}, .split = {}};
    for (int axis = 0; axis < field.shape.rank(); ++axis) text.shape.push_back(field.shape[axis]);
    if (field.split) text.split = std::string(1, *field.split);
    list.append(write_options(text));
  }
  return to_yaml(list);
}

RowSpec read_row_spec(std::string_view text, const std::string& name) {
  const Spec list = parse_yaml(text, name);
  if (list.items().size() > kMaxFields) throw list.error(cat("a row may have ", kMaxFields, " fields here"));
  RowSpec rows;
  size_t bytes = 0;
  for (const Spec& item : list.items()) {
    FieldSpec field = field_of(read_options<FieldText>(item), item);
    if (rows.find(field.name) >= 0) throw item.error(cat("the field ", quote(field.name), " is listed twice"));
    bytes = add_bytes(bytes, field.row_bytes());  // throws if they cannot be counted
    rows.fields.push_back(std::move(field));
  }
  return rows;
}

}  // namespace millrace
