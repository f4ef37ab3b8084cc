#include "millrace/input/tfrecord/example_decoder.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/arrays/number_format.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/tfrecord/wire_reader.h"

namespace millrace {

namespace {

// The lists that a feature may have; the values are the numbers of their fields.
enum class ListKind : uint8_t { none = 0, bytes = 1, floats = 2, integers = 3 };

// The list of a feature: several lists of one kind are one, and a list of another kind replaces those before it.
struct FeatureList {
  ListKind kind = ListKind::none;
  std::string_view bytes = {};  // of the feature, from the first list on that counts
};

// Calls body(key, feature) for each name in an example. False if the bytes are no example.
template <class Body>
bool visit_features(std::string_view example, const Body& body) {
  WireReader parts(example);
  while (parts.next()) {
    if (!parts.is(1, WireType::bytes)) continue;
    WireReader entries(parts.bytes());
    while (entries.next()) {
      if (!entries.is(1, WireType::bytes)) continue;
      std::string_view key, feature;
      WireReader entry(entries.bytes());
      while (entry.next()) {
        if (entry.is(1, WireType::bytes)) key = entry.bytes();
        if (entry.is(2, WireType::bytes)) feature = entry.bytes();
      }
      if (entry.failed()) return false;
      body(key, feature);
    }
    if (entries.failed()) return false;
  }
  return !parts.failed();
}

// No value if the bytes are no feature.
std::optional<FeatureList> list_of(std::string_view feature) {
  FeatureList out;
  WireReader lists(feature);
  for (std::string_view at = feature; lists.next(); at = lists.left()) {
    if (lists.type() != WireType::bytes || lists.number() > 3) continue;
    const auto kind = static_cast<ListKind>(lists.number());
    if (out.kind != kind) out = {kind, at};
  }
  return lists.failed() ? std::nullopt : std::optional(out);
}

// Calls body(bytes) for each value, or for several numbers at once, as they are stored. False if a list is damaged, or
// if body() returns false.
template <class Body>
bool visit_values(const FeatureList& list, const Body& body) {
  constexpr WireType kSingle[] = {WireType::bytes, WireType::bytes, WireType::fixed32, WireType::varint};
  const WireType single = kSingle[static_cast<size_t>(list.kind)];
  WireReader lists(list.bytes);
  while (lists.next()) {
    if (!lists.is(static_cast<uint32_t>(list.kind), WireType::bytes)) continue;
    WireReader values(lists.bytes());
    while (values.next()) {
      if (!values.is(1, WireType::bytes) && !values.is(1, single)) continue;
      if (!body(values.bytes())) return false;
    }
    if (values.failed()) return false;
  }
  return true;
}

constexpr std::string_view kDamaged = "the bytes are no tf.Example";

std::string_view text_of(ListKind kind) {
  constexpr std::string_view kTexts[] = {"nothing", "texts", "floats", "integers"};
  return kTexts[static_cast<size_t>(kind)];
}

// The numbers of a list, on their way to a field of type T.
template <class T>
class Numbers {
 public:
  Numbers(const FieldSpec& spec, RowBlock& rows, size_t field, int64_t row) {
    if (spec.ragged()) {
      list_ = &rows.varying(field, row);
      list_->clear();
    } else {
      out_ = rows.row<T>(field, row);
      room_ = static_cast<size_t>(spec.shape.elements());
    }
  }

  uint64_t count() const { return count_; }
  // Returns what is wrong.
  std::string take(const FeatureList& list) {
    std::string wrong;
    const bool whole = visit_values(list, [&](std::string_view stored) {
      switch (list.kind) {
        case ListKind::floats: wrong = add_floats(stored); break;
        case ListKind::integers: wrong = add_integers(stored); break;
        default: wrong = add_stored(stored); break;
      }
      return wrong.empty();
    });
    return whole || !wrong.empty() ? wrong : std::string(kDamaged);
  }

 private:
  static std::string_view type() { return to_string(DTypeOf<T>::value); }

  void add(T value) {
    if (list_ != nullptr) {
      list_->add_number(value);
    } else if (count_ < room_) {
      out_[count_] = value;
    }
    ++count_;
  }
  // Numbers of type T.
  std::string add_stored(std::string_view bytes) {
    if (bytes.size() % sizeof(T) != 0) {
      return cat("expected bytes of ", type(), ", got ", count_of(std::ssize(bytes), "byte"));
    }
    const size_t count = bytes.size() / sizeof(T);
    if (list_ == nullptr && count_ + count <= room_) {
      std::memcpy(out_ + count_, bytes.data(), bytes.size());
      count_ += count;
      return {};
    }
    for (size_t i = 0; i < count; ++i) add(number_at<T>(bytes, i));
    return {};
  }
  std::string add_floats(std::string_view bytes) {
    if (bytes.size() % sizeof(float) != 0) return std::string(kDamaged);
    if constexpr (std::is_same_v<T, float>) {
      return add_stored(bytes);
    } else if constexpr (std::is_same_v<T, double>) {
      for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) add(number_at<float>(bytes, i));
      return {};
    }
    return cat("expected ", type(), ", got floats");
  }
  std::string add_integers(std::string_view bytes) {
    while (!bytes.empty()) {
      uint64_t bits = 0;
      if (!take_varint(bytes, bits)) return std::string(kDamaged);
      const auto value = static_cast<int64_t>(bits);
      if constexpr (std::is_integral_v<T>) {
        if (!std::in_range<T>(value)) return cat("expected ", type(), ", got ", value);
      }
      add(static_cast<T>(value));
    }
    return {};
  }
  template <class Number>
  static Number number_at(std::string_view bytes, size_t index) {
    Number out;
    std::memcpy(&out, bytes.data() + index * sizeof out, sizeof out);
    return out;
  }

  Varying* list_ = nullptr;
  T* out_ = nullptr;
  size_t room_ = 0;
  uint64_t count_ = 0;
};

std::string take_texts(const FeatureList& list, Varying& out, uint64_t& count) {
  out.clear();
  if (list.kind != ListKind::bytes && list.kind != ListKind::none) {
    return cat("expected texts, got ", text_of(list.kind));
  }
  const bool whole = visit_values(list, [&](std::string_view text) {
    out.add_text(text);
    return ++count > 0;
  });
  return whole ? std::string() : std::string(kDamaged);
}

std::string take_values(const FeatureList& list, const FieldSpec& spec, RowBlock& rows, size_t field, int64_t row,
                        uint64_t& count) {
  if (spec.text) return take_texts(list, rows.varying(field, row), count);
  return with_parsed_type(spec.dtype, [&](auto zero) {
    Numbers<decltype(zero)> numbers(spec, rows, field, row);
    std::string wrong = numbers.take(list);
    count = numbers.count();
    return wrong;
  });
}

void set_default(const ExampleField& from, RowBlock& rows, size_t field, int64_t row) {
  if (!from.spec.varies()) {
    std::memcpy(rows.at(field, row), from.defaults.numbers.data(), from.defaults.numbers.size());
    return;
  }
  Varying& out = rows.varying(field, row);
  out.clear();
  for (const std::string& text : from.defaults.texts) out.add_text(text);
  for (const std::byte byte : from.defaults.numbers) out.add_number(byte);
}

}  // namespace

ExampleDecoder::ExampleDecoder(std::vector<ExampleField> fields) : fields_(std::move(fields)) {
  for (const ExampleField& field : fields_) keys_.push_back(field.key);
  std::ranges::sort(keys_);
  keys_.erase(std::ranges::unique(keys_).begin(), keys_.end());
  // A value has a byte or more.
  std::vector<uint64_t> least(keys_.size(), 0);
  for (const ExampleField& field : fields_) {
    feature_.push_back(static_cast<size_t>(std::ranges::lower_bound(keys_, field.key) - keys_.begin()));
    if (field.spec.ragged() || field.defaults.given) continue;
    least[feature_.back()] = std::max(least[feature_.back()], static_cast<uint64_t>(field.spec.shape.elements()));
  }
  for (const uint64_t bytes : least) least_bytes_ += bytes;
}

RowSpec ExampleDecoder::rows() const {
  RowSpec out;
  for (const ExampleField& field : fields_) out.fields.push_back(field.spec);
  return out;
}

ExampleFault ExampleDecoder::decode(std::string_view example, Features& features, RowBlock& rows, int64_t row) const {
  features.assign(keys_.size(), {});
  if (!find_features(example, features)) return {.text = std::string(kDamaged)};
  for (size_t i = 0; i < fields_.size(); ++i) {
    const ExampleField& field = fields_[i];
    const std::optional<FeatureList> list = list_of(features[feature_[i]]);
    uint64_t count = 0;
    std::string wrong = list ? take_values(*list, field.spec, rows, i, row, count) : std::string(kDamaged);
    if (wrong.empty()) {
      // A list of any length may be empty, if it is there.
      const auto size = static_cast<uint64_t>(field.spec.shape.elements());
      if (field.spec.ragged() ? list->kind != ListKind::none : count == size) continue;
      if (count == 0 && field.defaults.given) {
        set_default(field, rows, i, row);
        continue;
      }
      if (count == 0) return missing(field, example);
      wrong = cat("expected ", count_of(static_cast<int64_t>(size), "value"), ", got ", count);
    }
    return {.text = cat("feature ", quote(field.key), " (", field.spec.name, "): ", wrong)};
  }
  return {};
}

bool ExampleDecoder::find_features(std::string_view example, Features& features) const {
  return visit_features(example, [&](std::string_view key, std::string_view feature) {
    const auto found =
        std::ranges::lower_bound(keys_, key, {}, [](const std::string& one) { return std::string_view(one); });
    if (found != keys_.end() && *found == key) features[static_cast<size_t>(found - keys_.begin())] = feature;
  });
}

ExampleFault ExampleDecoder::missing(const ExampleField& field, std::string_view example) const {
  constexpr size_t kShown = 20;
  std::vector<std::string> names;
  size_t count = 0;
  bool is_there = false;
  visit_features(example, [&](std::string_view key, std::string_view) {
    if (++count <= kShown) names.emplace_back(key);
    is_there = is_there || key == field.key;
  });
  const std::string where = cat("feature ", quote(field.key), " (", field.spec.name, "): ");
  if (is_there) return {.text = where + "it has no values", .hint = "give the field a default"};
  const std::string near = nearest(field.key, names);
  for (std::string& name : names) name = quote(name);
  if (count > kShown) names.push_back(cat(count - kShown, " more"));
  return {.text = where + "the record has no such feature",
          .hint = !near.empty()   ? cat("did you mean ", quote(near), "?")
                  : names.empty() ? std::string("it has none at all")
                                  : cat("it has ", join(names), "; a default stands for a feature that is missing")};
}

}  // namespace millrace
