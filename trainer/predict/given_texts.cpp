#include "millrace/trainer/predict/given_texts.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/given_text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/transform.h"
#include "millrace/trainer/files/saved_model.h"

namespace millrace {

namespace {

constexpr const char* kGivenTextKind = "given text";
constexpr const char* kGivenColumnsKind = "given columns";
// The op that decodes the fields of rows that did not come from text.
constexpr const char* kDecoderKind = "decode_csv";

// The most columns that the fields of such rows may have.
constexpr int64_t kMostColumns = 1 << 20;

constexpr const char* kNamesKey = "names";  // of the decoder

std::unique_ptr<Op> made(const Spec& item, const OpRegistry& registry, const Spec& header) {
  KindAndOptions op = registry.read(item, "an input op");
  for (const char* key : {"name", "from"}) op.options.erase(key);
  const bool takes_names = op.kind == kDecoderKind && !header.is_null();
  if (takes_names && std::as_const(op.options).find(kNamesKey) == nullptr) op.options.set(kNamesKey, header);
  return registry.make(op, item);
}

// The op at `item` as Transform::for_named_columns() makes it. Columns that it selects by index, without a name, get
// those of the training's header.
std::unique_ptr<Transform> columns_op(const Spec& item, const OpRegistry& registry, const Spec& header,
                                      std::vector<std::string>& names) {
  const std::unique_ptr<Op> op = made(item, registry, header);
  const auto* const transform = dynamic_cast<const Transform*>(op.get());
  return transform == nullptr ? nullptr : attributed(*op, [&] { return transform->for_named_columns(names); });
}

// An op for a list that is made here, as `item` describes it.
Spec unnamed_op(const Spec& item, const char* kind) {
  return Spec::map(item.place()).set(kind, Spec::map(item.place()));
}

// The bytes that stand between values of a field.
std::string splits_of(const RowSpec& rows) {
  std::string out;
  for (const FieldSpec& field : rows.fields) {
    if (field.split) out += *field.split;
  }
  return out;
}

// Where the rows come from is known only after the op is bound to text that has these columns.
std::vector<GivenKey> keys_of(const Spec& list, const OpRegistry& registry, const CsvDialect& dialect) {
  std::vector<GivenKey> keys;
  std::set<std::string> taken;
  for (size_t i = 0; i < dialect.header.size(); ++i) {
    keys.push_back({.name = dialect.header[i], .columns = {static_cast<uint32_t>(i)}});
    taken.insert(dialect.header[i]);
  }
  const InputGraph graph = InputGraph::build(list, registry, {});
  const TextColumns* const text = graph.text_columns();
  for (size_t i = 0; text != nullptr && i < text->columns.size(); ++i) {
    const std::string& name = text->rows.fields[i].name;
    if (text->columns[i].size() < 2 || !taken.insert(name).second) continue;
    keys.push_back({.name = name, .columns = text->columns[i], .list = true});
  }
  return keys;
}

// The names of all columns that an op of the list reads.
std::set<std::string> all_columns(const Spec& list, const OpRegistry& registry, const Spec& header) {
  std::set<std::string> out;
  for (const Spec& item : list.items()) {
    if (!registry.entries().contains(kind_and_options(item, "an input op").kind)) continue;
    std::vector<std::string> names;
    columns_op(item, registry, header, names);
    out.insert(names.begin(), names.end());
  }
  return out;
}

struct FieldColumns {
  Spec decoder;
  std::vector<std::string> names = {};
};

// An op that decodes these fields from columns side by side.
FieldColumns columns_of_fields(const RowSpec& rows, const Place& place) {
  Spec fields = Spec::map(place);
  FieldColumns out;
  for (const FieldSpec& field : rows.fields) {
    const int64_t first = std::ssize(out.names), count = field.ragged() ? 0 : field.shape.elements();
    if (count < 1 || first + count > kMostColumns) {
      throw ConfigError(cat("the rows of the model have the field ", field.name, ": ", field.type_text(),
                            ", which cannot be given as texts of columns"));
    }
    Spec shape = Spec::list(place);
    for (int axis = 0; axis < field.shape.rank(); ++axis) {
      shape.append(Spec::scalar(cat(field.shape[axis]), false, place));
    }
    Spec options = Spec::map(place)
                       .set("columns", Spec::scalar(cat(first, '-', first + count - 1), false, place))
                       .set("type", Spec::scalar(std::string(field.type_name()), true, place))
                       .set("reshape", std::move(shape));
    if (field.text) options.set("default", "");
    if (!field.text && !is_integer(field.dtype)) options.set("default", Spec::scalar("nan", false, place));
    fields.set(field.name, std::move(options));
    for (int64_t i = 0; i < count; ++i) {
      out.names.push_back(count == 1 ? field.name : cat(field.name, '[', i, ']'));
    }
  }
  out.decoder = Spec::map(place).set(kDecoderKind, Spec::map(place).set("fields", std::move(fields)));
  return out;
}

GivenTexts texts_of_columns(GivenRows given, const Config& config, const Spec& header, std::vector<std::string> names) {
  GivenTexts out{.list = Spec::list(given.list.place()), .registry = std::move(given.registry)};
  out.dialect = given_text_dialect(std::move(names), splits_of(given.rows));
  const std::set<std::string> all = all_columns(config.input, out.registry, header);
  std::ranges::copy_if(all, std::back_inserter(out.unread), [&](const std::string& name) {
    return std::ranges::find(out.dialect.header, name) == out.dialect.header.end();
  });
  const auto make = [known = out.registry, item = *given.maker, header](const Spec& options,
                                                                        Spec* resolved) -> std::unique_ptr<Op> {
    read_options<NoOptions>(options, resolved);
    std::vector<std::string> ignored;
    return columns_op(item, known, header, ignored);
  };
  out.registry.add(kGivenTextKind, given_text_op(out.dialect));
  out.registry.add(kGivenColumnsKind,
                   {.doc = "decodes the text of the program", .describe = describe_options<NoOptions>, .make = make});
  out.list.append(unnamed_op(out.list, kGivenTextKind)).append(unnamed_op(*given.maker, kGivenColumnsKind));
  for (const Spec& op : given.rest) out.list.append(op);
  out.keys = keys_of(out.list, out.registry, out.dialect);
  return out;
}

GivenTexts texts_of_fields(GivenRows given, const RowSpec& trained) {
  GivenTexts out{.list = Spec::list(given.list.place()), .registry = std::move(given.registry)};
  FieldColumns columns = columns_of_fields(given.rows, given.list.place());
  out.dialect = given_text_dialect(std::move(columns.names), {});
  out.registry.add(kGivenTextKind, given_text_op(out.dialect));
  out.list.append(unnamed_op(out.list, kGivenTextKind)).append(std::move(columns.decoder));
  const std::vector<Spec>& ops = given.list.items();
  for (size_t i = 1; i < ops.size(); ++i) out.list.append(ops[i]);
  uint32_t first = 0;
  for (const FieldSpec& field : given.rows.fields) {
    GivenKey key{.name = field.name, .columns = std::vector<uint32_t>(static_cast<size_t>(field.shape.elements()))};
    std::iota(key.columns.begin(), key.columns.end(), first);
    first += static_cast<uint32_t>(key.columns.size());
    key.list = key.columns.size() > 1;
    out.keys.push_back(std::move(key));
  }
  for (const FieldSpec& field : trained.fields) {
    if (given.rows.find(field.name) < 0) out.unread.push_back(field.name);
  }
  return out;
}

}  // namespace

GivenTexts given_texts(const ModelFile& file, const Config& config, const Catalog& catalog, uint64_t max_bytes) {
  GivenRows given = given_rows(file, config, catalog, max_bytes);
  std::vector<std::string> names;
  const Spec header = saved_column_names(file);
  const bool columns = given.maker && columns_op(*given.maker, given.registry, header, names) != nullptr;
  return columns ? texts_of_columns(std::move(given), config, header, std::move(names))
                 : texts_of_fields(std::move(given), saved_rows(file));
}

std::vector<std::vector<std::string>> trained_columns(const ModelFile& file, const GivenRows& given) {
  std::vector<std::vector<std::string>> out(given.rows.fields.size());
  if (!given.maker) return out;
  const std::unique_ptr<Op> op = made(*given.maker, given.registry, saved_column_names(file));
  for (size_t i = 0; i < out.size(); ++i) {
    const FieldSpec& field = given.rows.fields[i];
    auto names = attributed(*op, [&] { return op->column_names(field.name); });
    if (field.ragged() || std::ssize(names) == field.shape.elements()) out[i] = std::move(names);
  }
  return out;
}

}  // namespace millrace
