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
#include "millrace/input/onnx_calendar.h"

namespace millrace {

namespace {

constexpr int kOpset = 20;  // has StringSplit, StringConcat and RegexFullMatch
constexpr std::string_view kMonthNames[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kIsoDatePattern = R"(\d{4}-\d{2}-\d{2})";
constexpr std::string_view kIsoTimePattern =
    R"(\d{4}-\d{2}-\d{2}([Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)?)"
    R"( ?([Zz]|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?)?)";

// The pieces of texts between separators; at least `pieces`, the last of which may be empty.
std::vector<std::string> split(OnnxGraph& graph, const std::string& texts, const std::string& separator,
                               int64_t pieces) {
  std::string ends;
  for (int64_t i = 1; i < pieces; ++i) ends += separator;
  const std::string ended = graph.add("StringConcat", {texts, graph.texts({ends}, {})});
  const std::string parts = graph.add("StringSplit", {ended}, {{"delimiter", separator}}, 2);
  std::vector<std::string> out;
  for (int64_t i = 0; i < pieces; ++i) {
    out.push_back(graph.add("Gather", {parts, graph.constant(i)}, {{"axis", int64_t{-1}}}));
  }
  return out;
}

// The pieces of texts between blanks; those that a text does not have are empty.
std::vector<std::string> words(OnnxGraph& graph, const std::string& texts, int64_t count) {
  const std::string parts = graph.add("StringSplit", {texts}, {}, 2);
  const std::string sizes =
      graph.add("Concat", {graph.add("Shape", {texts}), graph.list<int64_t>({count})}, {{"axis", int64_t{0}}});
  const std::string none = graph.add("Expand", {graph.texts({""}, {1}), sizes});
  const std::string all = graph.add("Concat", {parts, none}, {{"axis", int64_t{-1}}});
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(graph.add("Gather", {all, graph.constant(i)}, {{"axis", int64_t{-1}}}));
  }
  return out;
}

// What is before and after the first separator, which must be there.
std::pair<std::string, std::string> cut(OnnxGraph& graph, const std::string& texts, const std::string& separator) {
  const std::string parts = graph.add("StringSplit", {texts}, {{"delimiter", separator}, {"maxsplit", int64_t{1}}}, 2);
  const auto part = [&](int64_t index) {
    return graph.add("Gather", {parts, graph.constant(index)}, {{"axis", int64_t{-1}}});
  };
  return {part(0), part(1)};
}

// The number in each text; 0 for an empty one.
std::string number_in(OnnxGraph& graph, const std::string& texts, OnnxType type) {
  return graph.cast(graph.add("StringConcat", {graph.texts({"0"}, {}), texts}), type);
}
OnnxWhole whole_in(OnnxGraph& graph, const std::string& texts) {
  return {&graph, number_in(graph, texts, OnnxType::i64)};
}

struct Parsed {
  OnnxWhole days;       // since the first day of the year 0
  OnnxWhole minutes;    // of the day, minus the offset from UTC
  std::string seconds;  // float64
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
OnnxWhole minutes_in(OnnxGraph& graph, const std::string& texts) {
  const std::vector<std::string> parts = split(graph, texts, ":", 2);
  const OnnxWhole first = whole_in(graph, parts[0]);
  const std::string joined = graph.add("RegexFullMatch", {parts[0]}, {{"pattern", std::string(R"(\d{4})")}});
  const OnnxWhole four = first / 100 * 60 + first % 100;
  const OnnxWhole hours{&graph, graph.add("Where", {joined, four.value, (first * 60).value})};
  return hours + whole_in(graph, parts[1]);
}

std::string joined(OnnxGraph& graph, const std::string& a, const std::string& b) {
  return graph.add("StringConcat", {a, b});
}

Parsed parse_iso(TimeFormat::Kind kind, const std::string& texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  // A blank may stand before the time, and another before the offset.
  const std::vector<std::string> pieces = words(graph, texts, 3);
  const auto [year, rest] = cut(graph, pieces[0], "-");
  auto [month, day] = cut(graph, rest, "-");
  const auto days = [&] {
    return checked_days(whole_in(graph, year), whole_in(graph, month), whole_in(graph, day), rows);
  };
  if (kind == TimeFormat::Kind::date) return {days(), {&graph, graph.constant(int64_t{0})}, graph.constant(0.0)};
  std::string time = graph.texts({""}, {});
  for (const char* separator : {"T", "t"}) {
    const std::vector<std::string> parts = split(graph, day, separator, 2);
    day = parts[0];
    time = joined(graph, time, parts[1]);
  }
  time = joined(graph, time, joined(graph, pieces[1], pieces[2]));
  for (const char* zero : {"Z", "z"}) time = split(graph, time, zero, 2)[0];
  const std::vector<std::string> ahead = split(graph, time, "+", 2), behind = split(graph, ahead[0], "-", 2);
  const OnnxWhole offset = minutes_in(graph, ahead[1]) - minutes_in(graph, behind[1]);
  const std::vector<std::string> clock = split(graph, behind[0], ":", 3);
  const std::vector<std::string> dots = split(graph, clock[2], ".", 2), commas = split(graph, dots[0], ",", 2);
  const std::string fraction =
      joined(graph, joined(graph, graph.texts({"0."}, {}), dots[1]), joined(graph, commas[1], graph.texts({"0"}, {})));
  return {days(), whole_in(graph, clock[0]) * 60 + whole_in(graph, clock[1]) - offset,
          graph.add("Add", {number_in(graph, commas[0], OnnxType::f64), graph.cast(fraction, OnnxType::f64)})};
}

// The texts of a name in the cases that occur.
void add_cases(std::string_view name, int64_t value, std::vector<std::string>& keys, std::vector<int64_t>& values) {
  std::string upper(name), lower(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string& text : {std::string(name), upper, lower}) {
    if (std::ranges::find(keys, text) != keys.end()) continue;
    keys.push_back(text);
    values.push_back(value);
  }
}

// A number for each text, from the names that stand for them; -1 for other texts.
OnnxWhole named(OnnxGraph& graph, const std::string& texts, char letter) {
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
    case 'M':
    case 'S': return R"([0-5]?\d)";
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
    out += c == ' ' ? std::string(R"([ \t]+)") : std::string(1, c);
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

Parsed parse_letters(const Letters& letters, const std::string& given, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  // With single blanks.
  std::string texts;
  for (const std::string& word : words(graph, given, letters.blanks + 1)) {
    texts = texts.empty() ? word : joined(graph, texts, joined(graph, graph.texts({" "}, {}), word));
  }
  std::string rest = letters.before.empty() ? texts : cut(graph, texts, letters.before).second;
  std::map<char, std::string> text_of;
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
    rows.refuse(graph.add("Greater", {day.value, onnx_days_of_year(year).value}));
    rows.refuse(graph.add("Less", {day.value, graph.constant(int64_t{1})}));
    days = days + day - 1;
  }
  OnnxWhole hours = whole('H', 0);
  if (text_of.contains('I')) {
    const OnnxWhole half = named(graph, text_of['p'], 'p');
    rows.refuse(graph.add("Less", {half.value, graph.constant(int64_t{0})}));
    hours = whole('I', 0) % 12 + half * 12;
  }
  std::string seconds = graph.cast(whole('S', 0).value, OnnxType::f64);
  if (text_of.contains('f')) {
    const std::string digits = graph.add("StringConcat", {graph.texts({"0."}, {}), text_of['f']});
    seconds = graph.add("Add", {seconds, graph.cast(digits, OnnxType::f64)});
  }
  return {days, hours * 60 + whole('M', 0), seconds};
}

}  // namespace

std::string add_seconds(const TimeFormat& format, const std::string& texts, const std::string& missing,
                        OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  graph.need_opset(kOpset);
  const bool iso = format.letters().empty();
  const Letters letters = iso ? Letters() : read_letters(format);
  const std::string matches =
      graph.add("RegexFullMatch", {texts}, {{"pattern", cat(R"([ \t]*)", pattern_of(format, letters), R"([ \t]*)")}});
  rows.refuse(graph.add("Not", {graph.add("Or", {matches, missing})}));
  // Any date, so that every text can be cut.
  const std::string sample = graph.texts({format.write(0)}, {});
  const std::string good = graph.add("Where", {matches, texts, sample});
  const Parsed parsed = iso ? parse_iso(format.kind(), good, rows) : parse_letters(letters, good, rows);
  const OnnxWhole whole = (parsed.days - kDaysBefore1970) * kSecondsOfDay + parsed.minutes * 60;
  return graph.add("Add", {graph.cast(whole.value, OnnxType::f64), parsed.seconds});
}

}  // namespace millrace
