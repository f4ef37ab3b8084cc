#include "millrace/trainer/predict/given_rows.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/source.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/predict/model_reader.h"

namespace millrace {

namespace {

// The op that gives the program's rows in the graph of the transforms. The op after it has the options of the op that
// decodes text, and gives the rows the values that text would have got.
constexpr const char* kGivenRows = "given rows";
constexpr const char* kGivenValues = "given values";

KindAndOptions read_op(const Spec& item, const OpRegistry& registry) {
  KindAndOptions op = registry.read(item, "an input op");
  for (const char* key : {"name", "from"}) op.options.erase(key);
  return op;
}

std::unique_ptr<Op> make_op(const Spec& item, const OpRegistry& registry) {
  return registry.make(read_op(item, registry), item);
}

// Whether the op at `item` makes or decodes rows, or comes before one that does.
bool is_before_rows(const Spec& item, const OpRegistry& registry) {
  const std::unique_ptr<Op> made = make_op(item, registry);
  const std::vector<PortType> inputs = attributed(*made, &Op::inputs);
  return inputs.empty() || inputs.front() == PortType::names || inputs.front() == PortType::text;
}

bool is_transform(const Spec& item, const OpRegistry& registry) {
  return dynamic_cast<const Transform*>(make_op(item, registry).get()) != nullptr;
}

bool is_known(const Spec& item, const OpRegistry& registry) {
  return registry.entries().contains(kind_and_options(item, "an input op").kind);
}

// Whether the op at `item` makes or changes the values of the field, as an op that is not known here may.
bool may_change(const std::string& field, const Spec& item, const OpRegistry& registry) {
  if (!is_known(item, registry)) return true;
  const std::unique_ptr<Op> made = make_op(item, registry);
  const FieldHistory before{.field = field};
  FieldHistory history = before;
  attributed(*made, [&] { made->undo(history); });
  return history != before;
}

OpRegistry with_given_rows(const Catalog& catalog, const RowSpec& spec) {
  RowBlock rows;
  rows.configure(spec, 0);
  OpRegistry registry = catalog.ops;
  registry.add(kGivenRows, memory_op(std::make_shared<const RowBlock>(std::move(rows))));
  return registry;
}

Spec op_of_given_rows(const Spec& place) {
  Spec options = Spec::map(place.place()).set("epochs", 1);
  return Spec::map(place.place()).set(kGivenRows, std::move(options));
}

// Appends what the op at `item`, which the program's rows do not go through, does for such rows.
void append_given_values(const Spec& item, OpRegistry& registry, Spec& list) {
  KindAndOptions decoder = read_op(item, registry);
  const auto make = [known = registry, kind = decoder.kind, item](const Spec& options,
                                                                  Spec* resolved) -> std::unique_ptr<Op> {
    const std::unique_ptr<Op> op = known.make({kind, options}, item, resolved);
    const auto* transform = dynamic_cast<const Transform*>(op.get());
    return transform != nullptr ? attributed(*op, [&] { return transform->for_given_rows(); }) : nullptr;
  };
  if (make(decoder.options, nullptr) == nullptr) return;
  registry.add(kGivenValues, {.doc = "gives the program's rows what text would have got",
                              .describe = describe_options<NoOptions>,
                              .make = make});
  list.append(Spec::map(item.place()).set(kGivenValues, std::move(decoder.options)));
}

Spec without_from(Spec item) {
  if (item.is_map() && item.entries().front().second.is_map()) item.find(item.entries().front().first)->erase("from");
  return item;
}

bool joins(const Spec& item) {
  const KindAndOptions op = kind_and_options(item, "an input op");
  const Spec* from = op.options.find("from");
  return from != nullptr && from->is_list() && from->size() > 1;
}

// The list of ops that the program's rows go through. It is the saved list, in which the op that gives these rows
// replaces the last join of several inputs and all before it or, without a join, a first op that is not known here: it
// gave the rows of the program that trained.
Spec list_for_given_rows(const Spec& saved, const OpRegistry& registry) {
  const std::vector<Spec>& items = saved.items();
  const auto join = std::find_if(items.rbegin(), items.rend(), joins);
  const bool known = items.empty() || is_known(items[0], registry);
  if (join == items.rend() && known) return saved;
  // Each op after the join reads from the op before it: nothing else could use what that op makes.
  auto rest = join == items.rend() ? items.begin() + 1 : join.base();
  Spec list = Spec::list(saved.place());
  list.append(op_of_given_rows(rest[-1]));
  for (; rest != items.end(); ++rest) list.append(join == items.rend() ? *rest : without_from(*rest));
  return list;
}

}  // namespace

std::unique_ptr<Op> GivenRows::maker_op() const { return maker ? make_op(*maker, registry) : nullptr; }

std::vector<Spec> GivenRows::transforms() const {
  std::vector<Spec> out = list.items();
  std::erase_if(out, [&](const Spec& op) { return !is_transform(op, registry); });
  return out;
}

DataError row_too_large(const ModelFile& file, size_t bytes, uint64_t most) {
  return DataError(cat("a row would take ", bytes, " bytes, at most ", most, " are allowed"), {file.path(), 0, 0});
}

GivenRows given_rows(const ModelFile& file, const Config& config, const Catalog& catalog, uint64_t max_bytes) {
  RowSpec rows = saved_rows(file);
  if (rows.fields.empty()) {
    throw DataError("the model file does not say what its rows look like", {file.path(), 0, 0},
                    "it was written by an older version: train it again");
  }
  if (const size_t bytes = rows.row_bytes(); bytes > max_bytes) throw row_too_large(file, bytes, max_bytes);
  OpRegistry registry = with_given_rows(catalog, rows);
  const Spec list = list_for_given_rows(config.input, registry);
  PassArgs args = pass_for(config, list, registry, false);
  for (const FieldSpec& field : rows.fields) args.source_fields.push_back(field.name);
  const PassInput pass = pass_input(args);

  std::erase_if(rows.fields, [&](const FieldSpec& field) {
    return std::find(pass.fields.begin(), pass.fields.end(), field.name) == pass.fields.end();
  });
  registry = with_given_rows(catalog, rows);
  size_t begin = 0;
  while (begin < pass.list.size() && is_before_rows(pass.list.items()[begin], registry)) ++begin;
  GivenRows out{.list = Spec::list(list.place()), .registry = std::move(registry), .rows = std::move(rows)};
  out.list.append(op_of_given_rows(list));
  if (begin > 0) {
    out.maker = without_from(pass.list.items()[begin - 1]);
    append_given_values(*out.maker, out.registry, out.list);
  }
  // Each reads from the one before it now.
  for (size_t i = begin; i < pass.list.size(); ++i) out.rest.push_back(without_from(pass.list.items()[i]));
  for (const Spec& op : out.rest) out.list.append(op);
  return out;
}

FieldHistory label_of_given_rows(const Config& config, const Catalog& catalog) {
  const OpRegistry registry = with_given_rows(catalog, {});
  const Spec list = list_for_given_rows(config.input, registry);
  FieldHistory history = label_history(config, list, registry);
  // Before a join, each input may have changed the label in its own way.
  const std::vector<Spec>& items = config.input.items();
  const auto join = items.end() - std::ssize(list.items());
  const auto changes = [&](const Spec& item) { return may_change(history.field, item, registry); };
  if (std::any_of(items.begin(), join, changes)) history.complete = false;
  return history;
}

}  // namespace millrace
