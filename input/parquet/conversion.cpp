#include "millrace/input/parquet/conversion.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/number_format.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

constexpr int64_t kDay = 86400, kBillion = 1000000000;

template <class T>
T load(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Rounds once. Exact integers and powers of ten are divided; others are read as text.
double decimal_of(Int128 unscaled, int32_t scale) {
  constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr Int128 kExact = Int128{1} << 53;
  if (unscaled >= -kExact && unscaled <= kExact && static_cast<size_t>(scale) < kPowers.size()) {
    return static_cast<double>(unscaled) / kPowers[static_cast<size_t>(scale)];
  }
  std::array<char, 48> digits;
  size_t at = digits.size();
  UInt128 rest = unscaled < 0 ? -static_cast<UInt128>(unscaled) : static_cast<UInt128>(unscaled);
  for (; rest > 0; rest /= 10) digits[--at] = static_cast<char>('0' + static_cast<int>(rest % 10));
  double out = 0;
  const std::string_view text(digits.data() + at, digits.size() - at);
  if (parse_number(cat(unscaled < 0 ? "-" : "", text, "e-", scale), out) != NumberStatus::ok) return 0;
  return out;
}

// The highest byte comes first; of more than 16 bytes only the last ones count.
Int128 big_endian(std::string_view bytes) {
  UInt128 out = !bytes.empty() && static_cast<signed char>(bytes.front()) < 0 ? ~UInt128{0} : UInt128{0};
  for (const char byte : bytes) out = out << 8 | static_cast<unsigned char>(byte);
  return static_cast<Int128>(out);
}

Moment moment_of(int64_t units, int64_t per_second, const Conversion& how) {
  int64_t seconds = units / per_second, rest = units % per_second;
  if (rest < 0) {
    --seconds;
    rest += per_second;
  }
  if (!how.to_days()) return {seconds, static_cast<int32_t>(rest * (kBillion / per_second))};
  return {seconds - (seconds % kDay + kDay) % kDay, 0};
}

// What is stored in each way; kBytes is 0 if width() says how many there are.
template <class T>
struct Stored {
  static constexpr size_t kBytes = sizeof(T);
  static T get(const std::byte* from, const Conversion&) { return load<T>(from); }
};
struct StoredHalf {
  static constexpr size_t kBytes = 2;
  static float get(const std::byte* from, const Conversion&) {
    float out = 0;
    NumberFormat{NumberType::float16}.read(from, 1, reinterpret_cast<std::byte*>(&out));
    return out;
  }
};
template <class T>
struct StoredDecimal {
  static constexpr size_t kBytes = sizeof(T);
  static double get(const std::byte* from, const Conversion& how) { return decimal_of(load<T>(from), how.scale()); }
};
struct WideDecimal {
  static constexpr size_t kBytes = 0;
  static double get(const std::byte* from, const Conversion& how) {
    return decimal_of(big_endian({reinterpret_cast<const char*>(from), how.width()}), how.scale());
  }
};
struct StoredDay {
  static constexpr size_t kBytes = 4;
  static Moment get(const std::byte* from, const Conversion&) { return {load<int32_t>(from) * kDay, 0}; }
};
struct StoredTime {
  static constexpr size_t kBytes = 8;
  static Moment get(const std::byte* from, const Conversion& how) {
    return moment_of(load<int64_t>(from), how.per_second(), how);
  }
};
// Nanoseconds of a day, and its number in Julian days.
struct JulianTime {
  static constexpr size_t kBytes = 12;
  static Moment get(const std::byte* from, const Conversion& how) {
    constexpr int64_t kEpoch = 2440588;
    Moment out = moment_of(load<int64_t>(from), kBillion, how);
    out.seconds += (load<uint32_t>(from + 8) - kEpoch) * kDay;
    return out;
  }
};

// Returns false, and sets 0, if `to` cannot hold the value.
template <class Value, class To>
bool put(Value value, To& to) {
  if constexpr (std::is_same_v<Value, Moment>) {
    to = value.template as<To>();
  } else if constexpr (std::is_floating_point_v<To> || std::is_same_v<Value, To>) {
    to = static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
    constexpr auto kEnd = static_cast<Value>(kHalf) * 2;
    const bool fits = value >= static_cast<Value>(std::numeric_limits<To>::min()) && value < kEnd;
    to = fits ? static_cast<To>(value) : To{0};
    if (static_cast<Value>(to) == value) return true;
    to = 0;
    return false;
  } else {
    const bool fits = std::in_range<To>(value);
    to = fits ? static_cast<To>(value) : To{0};
    return fits;
  }
  return true;
}

template <class How, class To>
bool convert_all(const std::byte* from, size_t count, std::byte* to, const Conversion& how) {
  const size_t width = How::kBytes > 0 ? How::kBytes : how.width();
  bool good = true;
  for (size_t i = 0; i < count; ++i) {
    To value;
    good &= put(How::get(from + i * width, how), value);
    std::memcpy(to + i * sizeof(To), &value, sizeof value);
  }
  return good;
}

// Numbers that are dates or times when they are written in digits.
template <class How, class To>
bool convert_digits(const std::byte* from, size_t count, std::byte* to, const Conversion& how) {
  const size_t width = How::kBytes > 0 ? How::kBytes : how.width();
  bool good = true;
  for (size_t i = 0; i < count; ++i)
    good &= how.convert_text(cat(How::get(from + i * width, how)), to + i * sizeof(To));
  return good;
}

template <class How>
std::string text_of_one(const std::byte* value, const Conversion& how) {
  const auto got = How::get(value, how);
  if constexpr (std::is_same_v<decltype(got), const Moment>) {
    constexpr auto kKind = std::is_same_v<How, StoredDay> ? TimeFormat::Kind::date : TimeFormat::Kind::timestamp;
    return TimeFormat(kKind).write(got.template as<double>());
  } else {
    return cat(got);
  }
}

// Calls body(How{}) for the way in which the values of the column are stored.
template <class Body>
void with_number_storage(const ParquetColumn& column, const Body& body) {
  const bool is_unsigned = column.meaning == Meaning::unsigned_number;
  const bool decimal = column.meaning == Meaning::decimal && column.scale > 0;
  switch (column.stored) {
    case StoredType::boolean: return body(Stored<uint8_t>{});
    case StoredType::int32:
      if (decimal) return body(StoredDecimal<int32_t>{});
      return is_unsigned ? body(Stored<uint32_t>{}) : body(Stored<int32_t>{});
    case StoredType::int64:
      if (decimal) return body(StoredDecimal<int64_t>{});
      return is_unsigned ? body(Stored<uint64_t>{}) : body(Stored<int64_t>{});
    case StoredType::float32: return body(Stored<float>{});
    case StoredType::float64: return body(Stored<double>{});
    default: return column.meaning == Meaning::half ? body(StoredHalf{}) : body(WideDecimal{});
  }
}

}  // namespace

Conversion::Conversion(const ParquetColumn& column, const FieldSpec& field, const std::optional<TimeFormat>& time)
    : dtype_(field.dtype),
      width_(column.stored == StoredType::boolean ? 1 : column.width),
      scale_(column.scale),
      per_second_(column.per_second),
      time_(time) {
  const bool times = column.meaning == Meaning::date || column.meaning == Meaning::timestamp;
  if (times && !time && !field.text) {
    throw ConfigError(cat("it holds ", column.type_text(), ", and ", field.name, " is of type ", field.type_name()), {},
                      cat("set type: ", column.meaning == Meaning::date ? "date" : "timestamp", " for ", field.name,
                          ": seconds since 1970"));
  }
  to_days_ = time && time->kind() == TimeFormat::Kind::date;
  decimal_ = column.meaning == Meaning::decimal && column.stored == StoredType::bytes;
  const bool texts = column.meaning == Meaning::text;
  from_texts_ = !field.text && (texts || decimal_);
  makes_texts_ = field.text && !texts;
  keeps_order_ = !from_texts_ && !makes_texts_ && times == time.has_value() && column.stored != StoredType::int96;
  if (!texts && !decimal_) choose(column, times);
}

void Conversion::choose(const ParquetColumn& column, bool times) {
  const auto set = [this]<class How, class To>(How, To) {
    convert_ = convert_all<How, To>;
    text_of_ = text_of_one<How>;
  };
  if (times) {
    const auto set_time = [&](auto how) { dtype_ == DType::i64 ? set(how, int64_t{}) : set(how, double{}); };
    if (column.meaning == Meaning::date) return set_time(StoredDay{});
    return column.stored == StoredType::int96 ? set_time(JulianTime{}) : set_time(StoredTime{});
  }
  with_number_storage(column, [&]<class How>(How how) {
    with_parsed_type(dtype_, [&]<class To>(To number) {
      set(how, number);
      if (time_) convert_ = convert_digits<How, To>;
    });
  });
}

std::string Conversion::text_of(std::string_view stored) const {
  if (decimal_) return cat(decimal_of(big_endian(stored), scale_));
  if (text_of_ == nullptr) return std::string(stored);
  return text_of_(reinterpret_cast<const std::byte*>(stored.data()), *this);
}

bool Conversion::convert_text(std::string_view text, std::byte* to) const {
  return with_parsed_type(dtype_, [&](auto value) {
    bool good = true;
    if (decimal_ && !time_) {
      good = put(decimal_of(big_endian(text), scale_), value);
    } else if (time_) {
      Moment moment;
      good = decimal_ ? time_->parse(text_of(text), moment) : time_->parse(text, moment);
      value = good ? moment.as<decltype(value)>() : decltype(value){0};
    } else {
      good = parse_number(text, value) == NumberStatus::ok;
    }
    std::memcpy(to, &value, sizeof value);
    return good;
  });
}

}  // namespace millrace
