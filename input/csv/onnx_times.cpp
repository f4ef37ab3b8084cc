#include "millrace/input/csv/onnx_times.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/month_names.h"
#include "millrace/input/onnx_calendar.h"

namespace millrace {

namespace {

constexpr int kOpset = 20;  // has StringSplit, StringConcat and RegexFullMatch
constexpr std::string_view kIsoDatePattern = R"(\d{4}-\d{2}-\d{2})";
constexpr std::string_view kIsoTimePattern =
    R"(\d{4}-\d{2}-\d{2}([Tt ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d{1,9})?)?)"
    R"( ?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?)?)";

OnnxValue joined(OnnxGraph& graph, OnnxValue a, OnnxValue b) { return graph.add("StringConcat", {a, b}); }

// The first pieces of texts; those that a text does not have are empty.
std::vector<OnnxValue> pieces(OnnxGraph& graph, OnnxValue texts, std::vector<OnnxAttribute> split, int64_t count) {
  const OnnxValue sizes =
      graph.add("Concat", {graph.add("Shape", {texts}), graph.list({count})}, {{"axis", int64_t{0}}});
  const OnnxValue none = graph.add("Expand", {graph.text(""), sizes});
  const OnnxValue all =
      graph.add("Concat", {graph.add("StringSplit", {texts}, std::move(split), 2), none}, {{"axis", int64_t{-1}}});
  std::vector<OnnxValue> out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(graph.add("Gather", {all, graph.constant(i)}, {{"axis", int64_t{-1}}}));
  }
  return out;
}

// What is before and after the first separator.
std::pair<OnnxValue, OnnxValue> cut(OnnxGraph& graph, OnnxValue texts, std::string_view separator) {
  const std::vector<OnnxValue> both =
      pieces(graph, texts, {{"delimiter", std::string(separator)}, {"maxsplit", int64_t{1}}}, 2);
  return {both[0], both[1]};
}

// The pieces between spaces.
std::vector<OnnxValue> words(OnnxGraph& graph, OnnxValue texts, int64_t count) {
  return pieces(graph, texts, {}, count);
}

// The number in each text; 0 for an empty one.
OnnxValue number_in(OnnxGraph& graph, OnnxValue texts, OnnxType type) {
  return graph.cast(joined(graph, graph.text("0"), texts), type);
}
OnnxWhole whole_in(OnnxGraph& graph, OnnxValue texts) { return {&graph, number_in(graph, texts, OnnxType::i64)}; }

struct Parsed {
  OnnxWhole days;     // since the first day of the year 0
  OnnxWhole minutes;  // of the day, minus the offset from UTC
  OnnxValue seconds;  // float64
};

OnnxWhole checked_days(const OnnxWhole& year, const OnnxWhole& month, const OnnxWhole& day, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  OnnxWhole days = onnx_days(year, month, day);
  const OnnxDate date(days);
  rows.refuse(graph.add("Not", {graph.add("Equal", {date.month.value, month.value})}));
  rows.refuse(graph.add("Not", {graph.add("Equal", {date.day.value, day.value})}));
  rows.refuse(graph.add("Less", {year.value, graph.constant(int64_t{1})}));
  return days;
}

// hh:mm, hhmm, hh or nothing, as minutes.
OnnxWhole minutes_in(OnnxGraph& graph, OnnxValue texts) {
  const auto [before, after] = cut(graph, texts, ":");
  const OnnxWhole first = whole_in(graph, before);
  const OnnxValue four_digits = graph.add("RegexFullMatch", {before}, {{"pattern", R"(\d{4})"}});
  const OnnxWhole four = first / 100 * 60 + first % 100;
  const OnnxWhole hours{&graph, graph.add("Where", {four_digits, four.value, (first * 60).value})};
  return hours + whole_in(graph, after);
}

Parsed parse_iso(TimeFormat::Kind kind, OnnxValue texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  const auto days_in = [&](OnnxValue year, OnnxValue month, OnnxValue day) {
    return checked_days(whole_in(graph, year), whole_in(graph, month), whole_in(graph, day), rows);
  };
  // A blank may stand before the time, and another before the offset.
  const std::vector<OnnxValue> parts = words(graph, texts, 3);
  const auto [year, rest] = cut(graph, parts[0], "-");
  auto [month, day] = cut(graph, rest, "-");
  if (kind == TimeFormat::Kind::date)
    return {days_in(year, month, day), {&graph, graph.constant(int64_t{0})}, graph.constant(0.0)};
  OnnxValue time = graph.text("");
  for (const char* separator : {"T", "t"}) {
    const auto [before, after] = cut(graph, day, separator);
    day = before;
    time = joined(graph, time, after);
  }
  time = joined(graph, time, joined(graph, parts[1], parts[2]));
  for (const char* zero : {"Z", "z"}) time = cut(graph, time, zero).first;
  const auto [to_west, ahead] = cut(graph, time, "+");
  const auto [clock, behind] = cut(graph, to_west, "-");
  const OnnxWhole offset = minutes_in(graph, ahead) - minutes_in(graph, behind);
  const auto [hour, later] = cut(graph, clock, ":");
  const auto [minute, second] = cut(graph, later, ":");
  const auto [to_comma, after_dot] = cut(graph, second, ".");
  const auto [whole_second, after_comma] = cut(graph, to_comma, ",");
  const OnnxValue fraction =
      joined(graph, graph.text("0."), joined(graph, joined(graph, after_dot, after_comma), graph.text("0")));
  return {days_in(year, month, day), whole_in(graph, hour) * 60 + whole_in(graph, minute) - offset,
          graph.add("Add", {number_in(graph, whole_second, OnnxType::f64), graph.cast(fraction, OnnxType::f64)})};
}

// A name of up to three letters in any case, a longer one in the usual three.
void add_cases(std::string_view name, int64_t value, std::vector<std::string>& keys, std::vector<int64_t>& values) {
  const auto changed = [&](size_t at, bool upper) {
    const auto letter = static_cast<unsigned char>(name[at]);
    return static_cast<char>(upper ? std::toupper(letter) : std::tolower(letter));
  };
  const bool any = name.size() <= 3;
  for (size_t cases = 0; cases < (any ? size_t{1} << name.size() : 3); ++cases) {
    std::string text;
    for (size_t at = 0; at < name.size(); ++at) {
      text += changed(at, any ? (cases >> at & 1) != 0 : cases == 2 || (cases == 1 && at == 0));
    }
    if (std::ranges::find(keys, text) != keys.end()) continue;
    keys.push_back(std::move(text));
    values.push_back(value);
  }
}

// A number for each text, from the names that stand for them; -1 for other texts.
OnnxWhole named(OnnxGraph& graph, OnnxValue texts, char letter) {
  std::vector<std::string> keys;
  std::vector<int64_t> values;
  if (letter == 'p') {
    for (const auto& [name, value] : {std::pair("AM", 0), std::pair("PM", 1)}) add_cases(name, value, keys, values);
  } else {
    for (int64_t month = 1; month <= 12; ++month) {
      const std::string_view name = kMonthNames[month - 1];
      for (const std::string_view text : {name, name.substr(0, 3)}) add_cases(text, month, keys, values);
    }
  }
  return {&graph, graph.add_ml("LabelEncoder", {texts},
                               {{"keys_strings", keys}, {"values_int64s", values}, {"default_int64", int64_t{-1}}})};
}

std::string pattern_of(char letter) {
  switch (letter) {
    case 'Y': return R"(\d{4})";
    case 'y': return R"(\d{2})";
    case 'b':
    case 'B': return "[A-Za-z]+";
    case 'j': return R"(\d{1,3})";
    case 'H': return R"(([01]?\d|2[0-3]))";
    case 'I': return R"((0?[1-9]|1[0-2]))";
    case 'M': return R"([0-5]?\d)";
    case 'S': return R"(([0-5]?\d|60))";
    case 'f': return R"(\d{1,9})";
    case 'p': return "[AaPp][Mm]";
    default: return R"(\d{1,2})";
  }
}

// A format as its parts, and what stands after each of them.
struct Letters {
  struct Part {
    char letter;
    std::string after;
  };
  std::string before;
  std::vector<Part> parts;
  int64_t blanks = 0;  // between words
};

ConfigError unfit(const TimeFormat& format, std::string_view why) {
  return ConfigError(cat("the format ", quote(format.letters()), " cannot be written as ONNX: ", why), {},
                     "give the seconds since 1970 in place of the text: type: float64");
}

Letters read_letters(const TimeFormat& format) {
  Letters out;
  const std::string& letters = format.letters();
  const size_t begin = letters.find_first_not_of(' '), end = letters.find_last_not_of(' ') + 1;
  for (size_t i = begin; i < end; ++i) {
    const bool doubled = letters[i] == ' ' && letters[i - 1] == ' ';
    if (doubled) continue;
    if (letters[i] == ' ') ++out.blanks;
    if (letters[i] == '%' && letters[++i] != '%') {
      if (letters[i] == 'z') throw unfit(format, "it has an offset from UTC");
      out.parts.push_back({letters[i], {}});
    } else {
      (out.parts.empty() ? out.before : out.parts.back().after) += letters[i];
    }
  }
  // A part of digits ends at anything else, a name at anything but a letter.
  for (size_t i = 0; i + 1 < out.parts.size(); ++i) {
    const std::string& after = out.parts[i].after;
    const bool name = std::string_view("bBp").find(out.parts[i].letter) != std::string_view::npos;
    const auto next = static_cast<unsigned char>(after.empty() ? '0' : after.front());
    if (name ? std::isalnum(next) != 0 : std::isdigit(next) != 0)
      throw unfit(format, "it is not clear where a part ends");
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::ispunct(static_cast<unsigned char>(c)) != 0 && c != '_') out += '\\';
    out += c == ' ' ? std::string(" +") : std::string(1, c);
  }
  return out;
}

std::string pattern_of(const TimeFormat& format, const Letters& letters) {
  if (format.letters().empty()) {
    return std::string(format.kind() == TimeFormat::Kind::date ? kIsoDatePattern : kIsoTimePattern);
  }
  std::string out = escaped(letters.before);
  for (const Letters::Part& part : letters.parts) out += pattern_of(part.letter) + escaped(part.after);
  return out;
}

Parsed parse_letters(const Letters& letters, OnnxValue given, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  // With single blanks.
  OnnxValue rest = kNoOnnxValue;
  for (const OnnxValue word : words(graph, given, letters.blanks + 1)) {
    rest = rest == kNoOnnxValue ? word : joined(graph, rest, joined(graph, graph.text(" "), word));
  }
  if (!letters.before.empty()) rest = cut(graph, rest, letters.before).second;
  std::map<char, OnnxValue> text_of;
  for (const Letters::Part& part : letters.parts) {
    if (part.after.empty()) {
      text_of[part.letter] = rest;
    } else {
      std::tie(text_of[part.letter], rest) = cut(graph, rest, part.after);
    }
  }
  const auto whole = [&](char letter, int64_t otherwise) -> OnnxWhole {
    if (!text_of.contains(letter)) return {&graph, graph.constant(otherwise)};
    return whole_in(graph, text_of[letter]);
  };
  OnnxWhole year = whole('Y', 0);
  if (text_of.contains('y')) {
    const OnnxWhole two = whole('y', 0);
    year = two + 1900 + two.compared("Less", 69) * 100;
  }
  OnnxWhole month = whole('m', 1);
  for (const char letter : {'b', 'B'}) {
    if (text_of.contains(letter)) month = named(graph, text_of[letter], letter);
  }
  OnnxWhole days = checked_days(year, month, whole('d', 1), rows);
  if (text_of.contains('j')) {
    const OnnxWhole day = whole('j', 1);
    rows.refuse(graph.add("Greater", {day.value, days_of_year(year).value}));
    rows.refuse(graph.add("Less", {day.value, graph.constant(int64_t{1})}));
    days = days + day - 1;
  }
  OnnxWhole hours = whole('H', 0);
  if (text_of.contains('I')) {
    const OnnxWhole half = named(graph, text_of['p'], 'p');
    rows.refuse(graph.add("Less", {half.value, graph.constant(int64_t{0})}));
    hours = whole('I', 0) % 12 + half * 12;
  }
  OnnxValue seconds = graph.cast(whole('S', 0).value, OnnxType::f64);
  if (text_of.contains('f')) {
    const OnnxValue digits = joined(graph, graph.text("0."), text_of['f']);
    seconds = graph.add("Add", {seconds, graph.cast(digits, OnnxType::f64)});
  }
  return {days, hours * 60 + whole('M', 0), seconds};
}

// A second of 60 is the last one of a day, UTC.
void refuse_leap_second(const Parsed& parsed, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  constexpr int64_t kDay = int64_t{24} * 60;
  const OnnxValue leaps = graph.add("GreaterOrEqual", {parsed.seconds, graph.constant(60.0)});
  const OnnxWhole to_midnight = parsed.minutes.number(kDay - 1) - (parsed.minutes + kDay) % kDay;
  rows.refuse(graph.add("And", {leaps, graph.cast(to_midnight.value, OnnxType::boolean)}));
}

}  // namespace

OnnxValue add_seconds(const TimeFormat& format, OnnxType type, OnnxValue texts, OnnxValue missing, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  graph.need_opset(kOpset);
  const bool iso = format.letters().empty();
  const Letters letters = iso ? Letters() : read_letters(format);
  const std::string pattern = cat(" *", pattern_of(format, letters), " *");
  const OnnxValue matches = graph.add("RegexFullMatch", {texts}, {{"pattern", pattern}});
  rows.refuse(graph.add("Not", {graph.add("Or", {matches, missing})}));
  // Any date, so that every text can be cut.
  const OnnxValue good = graph.add("Where", {matches, texts, graph.text(format.write(0))});
  const Parsed parsed = iso ? parse_iso(format.kind(), good, rows) : parse_letters(letters, good, rows);
  const bool has_seconds = iso ? format.kind() == TimeFormat::Kind::timestamp
                               : std::ranges::find(letters.parts, 'S', &Letters::Part::letter) != letters.parts.end();
  if (has_seconds) refuse_leap_second(parsed, rows);
  const OnnxWhole whole = (parsed.days - kDaysBefore1970) * kSecondsOfDay + parsed.minutes * 60;
  // The fraction is cut off before it is added, because the sum may round it up.
  const OnnxValue seconds = type == OnnxType::i64 ? graph.add("Floor", {parsed.seconds}) : parsed.seconds;
  return graph.add("Add", {graph.cast(whole.value, type), graph.cast(seconds, type)});
}

}  // namespace millrace
