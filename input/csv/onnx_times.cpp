#include "millrace/input/csv/onnx_times.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
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
    R"(\d{4}-\d{2}-\d{2}([Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d{1,9})?)? ?([Zz]|[+-]([01]\d|2[0-3])(:[0-5]\d)?)?)?)";

// A tensor of texts, cut into parts.
class TextParts {
 public:
  TextParts(OnnxGraph& graph, std::string texts) : graph_(graph), rest_(std::move(texts)) {}

  // Cuts at the first `separator`: returns what is before it; what is after it remains. If there is none, nothing
  // remains.
  std::string take(std::string_view separator) {
    const std::string ended = graph_.add("StringConcat", {rest_, graph_.texts({std::string(separator)}, {})});
    const std::string parts =
        graph_.add("StringSplit", {ended}, {{"delimiter", std::string(separator)}, {"maxsplit", int64_t{1}}}, 2);
    rest_ = part(parts, 1);
    return part(parts, 0);
  }
  const std::string& rest() const { return rest_; }
  void set(std::string texts) { rest_ = std::move(texts); }

 private:
  std::string part(const std::string& parts, int64_t index) {
    return graph_.add("Gather", {parts, graph_.constant(index)}, {{"axis", int64_t{-1}}});
  }

  OnnxGraph& graph_;
  std::string rest_;
};

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

// hh:mm, hh or nothing, as minutes.
OnnxWhole minutes_in(OnnxGraph& graph, const std::string& texts) {
  TextParts parts(graph, texts);
  const OnnxWhole hours = whole_in(graph, parts.take(":"));
  return hours * 60 + whole_in(graph, parts.take(":"));
}

Parsed parse_iso(TimeFormat::Kind kind, const std::string& texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  TextParts parts(graph, texts);
  const OnnxWhole year = whole_in(graph, parts.take("-")), month = whole_in(graph, parts.take("-"));
  std::string day = parts.rest();
  const OnnxWhole none{&graph, graph.constant(int64_t{0})};
  if (kind == TimeFormat::Kind::date) {
    return {checked_days(year, month, whole_in(graph, day), rows), none, graph.constant(0.0)};
  }
  // What comes after the day, whichever sign is before it.
  std::string time;
  for (const char* separator : {"T", "t", " "}) {
    parts.set(day);
    day = parts.take(separator);
    // The rest ends with the separator that take() added.
    TextParts rest(graph, parts.rest());
    const std::string after = rest.take(separator);
    time = time.empty() ? after : graph.add("StringConcat", {time, after});
  }
  for (const char* mark : {"Z", "z", " "}) {
    parts.set(time);
    time = parts.take(mark);
  }
  parts.set(time);
  std::string clock = parts.take("+");
  const OnnxWhole ahead = minutes_in(graph, TextParts(graph, parts.rest()).take("+"));
  parts.set(clock);
  clock = parts.take("-");
  const OnnxWhole behind = minutes_in(graph, TextParts(graph, parts.rest()).take("-"));
  parts.set(clock);
  const OnnxWhole hours = whole_in(graph, parts.take(":"));
  const OnnxWhole minutes = whole_in(graph, parts.take(":"));
  parts.set(parts.take(":"));
  const std::string seconds = number_in(graph, parts.take(","), OnnxType::f64);
  const std::string fraction = graph.cast(
      graph.add("StringConcat",
                {graph.texts({"0."}, {}), graph.add("StringConcat", {parts.take(","), graph.texts({"0"}, {})})}),
      OnnxType::f64);
  return {checked_days(year, month, whole_in(graph, day), rows), hours * 60 + minutes - ahead + behind,
          graph.add("Add", {seconds, fraction})};
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
    if (letters[i] == '%' && letters[++i] != '%') {
      if (letters[i] == 'z') throw unfit(format, "it has an offset from UTC");
      out.parts.push_back({letters[i], {}});
    } else {
      (out.parts.empty() ? out.before : out.parts.back().after) += letters[i];
    }
  }
  for (size_t i = 0; i + 1 < out.parts.size(); ++i) {
    const std::string& after = out.parts[i].after;
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
    if (after.empty()) throw unfit(format, "nothing stands between two of its parts");
    if (std::ranges::any_of(after, plain)) throw unfit(format, "a letter or a digit stands between its parts");
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && static_cast<unsigned char>(c) < 0x80) out += '\\';
    out += c;
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

Parsed parse_letters(const Letters& letters, const std::string& texts, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  TextParts texts_left(graph, texts);
  if (!letters.before.empty()) texts_left.take(letters.before);
  std::map<char, std::string> text_of;
  for (const Letters::Part& part : letters.parts) {
    const bool last = &part == &letters.parts.back() && part.after.empty();
    text_of[part.letter] = last ? texts_left.rest() : texts_left.take(part.after);
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
