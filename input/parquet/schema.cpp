#include "millrace/input/parquet/schema.h"

#include <optional>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

namespace {

enum Repetition : uint8_t { kRequired, kOptional, kRepeated };

// The annotations of a schema that are of interest here, by their numbers among the logical types.
enum Annotation : uint8_t {
  kNone,
  kString,
  kMap,
  kList,
  kEnum,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kInteger = 10,
  kNothing = 11,
  kUuid = 14,
  kFloat16 = 15,
  kInterval = 32  // an older annotation, without such a number
};

struct Element {
  std::optional<StoredType> stored;
  int64_t width = 0, children = 0;
  uint8_t repetition = kRequired, annotation = kNone;
  int64_t scale = 0, precision = 0, per_second = 1000;
  bool is_unsigned = false;
  std::string name;
};

// The annotation that older files have; newer ones have both.
void set_converted(int64_t type, Element& out) {
  constexpr uint8_t kAnnotations[] = {kString, kMap,       kMap,       kList,    kEnum,    kDecimal, kDate,   kTime,
                                      kTime,   kTimestamp, kTimestamp, kInteger, kInteger, kInteger, kInteger};
  constexpr int64_t kMillis = 9, kFirstUnsigned = 11, kLastUnsigned = 14, kIntervalType = 21;
  if (type == kIntervalType) out.annotation = kInterval;
  if (type < 0 || type > kLastUnsigned || out.annotation != kNone) return;
  out.annotation = kAnnotations[type];
  if (out.annotation == kTimestamp) out.per_second = type == kMillis ? 1000 : 1000000;
  out.is_unsigned = type >= kFirstUnsigned;
}

void read_logical(ThriftReader& reader, Element& out) {
  reader.structure([&](int64_t kind) {
    reader.structure([&](int64_t field) {
      if (kind == kDecimal && field == 1) {
        out.scale = reader.integer();
      } else if (kind == kDecimal && field == 2) {
        out.precision = reader.integer();
      } else if (kind == kInteger && field == 2) {
        out.is_unsigned = !reader.boolean();
      } else if (kind == kTimestamp && field == 2) {
        reader.structure([&](int64_t unit) {
          out.per_second = unit == 1 ? 1000 : unit == 2 ? 1000000 : 1000000000;
          reader.skip();
        });
      } else {
        reader.skip();
      }
    });
    out.annotation = kind < kInterval ? static_cast<uint8_t>(kind) : uint8_t{kNone};
  });
}

Element read_element(ThriftReader& reader) {
  Element out;
  int64_t converted = -1;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: out.stored = static_cast<StoredType>(reader.integer(0, 7)); break;
      case 2: out.width = reader.integer(0, INT32_MAX); break;
      case 3: out.repetition = static_cast<uint8_t>(reader.integer(kRequired, kRepeated)); break;
      case 4: out.name = reader.text(); break;
      case 5: out.children = reader.integer(0, INT32_MAX); break;
      case 6: converted = reader.integer(); break;
      case 7: out.scale = reader.integer(); break;
      case 8: out.precision = reader.integer(); break;
      case 10: read_logical(reader, out); break;
      default: reader.skip();
    }
  });
  set_converted(converted, out);
  return out;
}

// How many bytes a value of each type takes.
uint32_t width_of(const Element& element) {
  constexpr uint32_t kWidths[] = {0, 4, 8, 12, 4, 8, 0};
  return *element.stored == StoredType::fixed ? static_cast<uint32_t>(element.width)
                                              : kWidths[static_cast<size_t>(*element.stored)];
}

void set_decimal(const Element& element, ParquetColumn& out) {
  constexpr int64_t kMostDigits = 38;
  const bool floating = out.stored == StoredType::float32 || out.stored == StoredType::float64;
  if (floating || out.stored == StoredType::boolean || out.stored == StoredType::int96) return;
  out.meaning = Meaning::decimal;
  out.scale = static_cast<int32_t>(element.scale);
  if (element.scale < 0 || element.scale > kMostDigits || element.precision > kMostDigits || out.width > 16) {
    out.refused = "decimals of more than 38 digits";
  }
}

// Says in `out` what a leaf holds.
void set_type(const Element& element, ParquetColumn& out) {
  out.stored = *element.stored;
  out.width = width_of(element);
  const bool texts = out.stored == StoredType::bytes || out.stored == StoredType::fixed;
  if (texts) out.meaning = Meaning::text;
  if (out.stored == StoredType::int96) out.meaning = Meaning::timestamp;
  if (out.stored == StoredType::fixed && out.width == 0) out.refused = "values without bytes";
  switch (element.annotation) {
    case kDecimal: set_decimal(element, out); break;
    case kDate:
      if (out.stored == StoredType::int32) out.meaning = Meaning::date;
      break;
    case kTimestamp:
      if (out.stored == StoredType::int64) out.meaning = Meaning::timestamp;
      out.per_second = element.per_second;
      break;
    case kInteger:
      if (!texts && element.is_unsigned) out.meaning = Meaning::unsigned_number;
      break;
    case kFloat16:
      if (out.stored == StoredType::fixed && out.width == 2) out.meaning = Meaning::half;
      break;
    case kNothing:
      // All values are missing, so any field can have them.
      if (out.stored == StoredType::int96) out.meaning = Meaning::number;
      break;
    case kTime: out.refused = "times of day"; break;
    case kUuid: out.refused = "UUIDs"; break;
    case kInterval: out.refused = "intervals"; break;
    default: break;
  }
}

class SchemaWalk {
 public:
  explicit SchemaWalk(std::vector<Element> elements) : elements_(std::move(elements)) {}

  std::vector<ParquetColumn> columns() {
    std::vector<ParquetColumn> out;
    const Element& root = next();
    for (int64_t i = 0; i < root.children; ++i) out.push_back(column());
    return out;
  }

 private:
  const Element& next() {
    if (at_ == elements_.size()) throw damaged_parquet("its schema is cut short");
    return elements_[at_++];
  }

  // A list is a group that holds the repeated element; that is the value, or a group that holds the value. Older
  // programs wrote a repeated value without groups, or a repeated group of the name "array" that is the value.
  ParquetColumn column() {
    const Element& element = next();
    ParquetColumn out{.name = element.name};
    out.leaf = leaves_;
    out.may_be_null = element.repetition == kOptional;
    out.most_definition = element.repetition == kRequired ? 0 : 1;
    out.is_list = element.repetition == kRepeated;
    if (element.stored) {
      set_leaf(element, out);
    } else if (element.annotation == kList && !out.is_list && element.children == 1) {
      set_list(element, out);
    } else {
      out.refused = element.annotation == kMap ? "maps" : out.is_list ? "lists of structs" : "structs";
      pass(element.children, 0);
    }
    return out;
  }

  void set_leaf(const Element& element, ParquetColumn& out) {
    if (element.children != 0) throw damaged_parquet("its schema has a value with parts");
    set_type(element, out);
    ++leaves_;
  }

  void set_list(const Element& list, ParquetColumn& out) {
    out.is_list = true;
    out.empty_definition = out.most_definition;
    ++out.most_definition;
    const Element& repeated = next();
    const bool is_value = repeated.name == "array" || repeated.name == list.name + "_tuple";
    if (repeated.repetition != kRepeated) {
      out.refused = "structs";
      pass(1, 0, &repeated);
    } else if (repeated.stored) {
      set_leaf(repeated, out);
    } else if (repeated.children == 1 && !is_value) {
      const Element& value = next();
      if (value.repetition == kOptional) ++out.most_definition;
      if (value.stored && value.repetition != kRepeated) return set_leaf(value, out);
      out.refused = value.annotation == kList || value.stored ? "lists of lists"
                    : value.annotation == kMap                ? "lists of maps"
                                                              : "lists of structs";
      pass(1, 0, &value);
    } else {
      out.refused = "lists of structs";
      pass(repeated.children, 0);
    }
  }

  // Goes past so many elements with all below them, the first of which may be known already.
  void pass(int64_t count, int depth, const Element* first = nullptr) {
    constexpr int kMostDepth = 64;
    if (depth > kMostDepth) throw damaged_parquet("its schema is nested too deeply");
    for (int64_t i = 0; i < count; ++i) {
      const Element& one = i == 0 && first != nullptr ? *first : next();
      if (one.stored) ++leaves_;
      pass(one.children, depth + 1);
    }
  }

  const std::vector<Element> elements_;
  size_t at_ = 0, leaves_ = 0;
};

std::string stored_text(const ParquetColumn& column) {
  constexpr const char* kNames[] = {"booleans", "int32", "int64", "int96", "float32", "float64", "texts", "texts"};
  switch (column.meaning) {
    case Meaning::unsigned_number: return cat('u', kNames[static_cast<size_t>(column.stored)]);
    case Meaning::half: return "float16";
    case Meaning::decimal: return "decimals";
    case Meaning::date: return "dates";
    case Meaning::timestamp: return "timestamps";
    default: return kNames[static_cast<size_t>(column.stored)];
  }
}

}  // namespace

std::string ParquetColumn::type_text() const {
  if (!refused.empty()) return refused;
  return cat(is_list ? "lists of " : "", stored_text(*this));
}

std::vector<ParquetColumn> read_schema(ThriftReader& reader) {
  std::vector<Element> elements;
  reader.list([&] { elements.push_back(read_element(reader)); });
  return SchemaWalk(std::move(elements)).columns();
}

}  // namespace millrace
