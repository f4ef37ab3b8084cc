#include "millrace/cli/init/value_text.h"

#include <algorithm>
#include <map>

#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/csv/time_format.h"

namespace millrace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

namespace {

std::string_view without_sign(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+') ? text.substr(1) : text;
}

// Takes a number of at most `most` digits from the start of `text`; -1 if there is none.
int take_number(std::string_view& text, size_t most) {
  size_t digits = 0;
  int value = 0;
  while (digits < most && digits < text.size() && is_digit(text[digits])) value = 10 * value + (text[digits++] - '0');
  text.remove_prefix(digits);
  return digits == 0 ? -1 : value;
}

bool take(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text[0]) == any.npos) return false;
  text.remove_prefix(1);
  return true;
}

bool is_time(std::string_view text) {
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 24 || !take(text, ":")) return false;
  const int minutes = take_number(text, 2);
  return minutes >= 0 && minutes < 60;
}

// Whether the first letters are those of a month. It spares most texts the trial of all forms of dates.
bool names_month(std::string_view text) {
  static const std::vector<std::string> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto letter = std::ranges::find_if(text, is_letter);
  return contains(kMonths, lower_case(text.substr(static_cast<size_t>(letter - text.begin()), 3)));
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool has_decimal_comma(std::string_view text) {
  text = without_sign(text);
  const size_t comma = text.find(',');
  return comma != text.npos && comma > 0 && all_digits(text.substr(0, comma)) && all_digits(text.substr(comma + 1));
}

bool has_grouped_digits(std::string_view text) {
  text = without_sign(text);
  std::string plain;
  if (text.find_first_of(" \xc2\xe2") != text.npos) {
    // Between the groups there may be a blank, a no-break space or a narrow no-break space.
    for (size_t i = 0; i < text.size();) {
      size_t length = text[i] == ' ' ? 1 : text.substr(i).starts_with("\xc2\xa0") ? 2 : 0;
      if (text.substr(i).starts_with("\xe2\x80\xaf")) length = 3;
      plain += length > 0 ? '\'' : text[i];
      i += std::max<size_t>(length, 1);
    }
    text = plain;
  }
  const size_t mark = text.find_first_of(",.'");
  if (mark == text.npos || mark == 0 || mark > 3 || !all_digits(text.substr(0, mark))) return false;
  const char group = text[mark];
  size_t groups = 0;
  text.remove_prefix(mark);
  while (text.size() >= 4 && text[0] == group && all_digits(text.substr(1, 3))) {
    text.remove_prefix(4);
    ++groups;
  }
  if (text.empty()) return groups > 1 || (groups == 1 && group != '.');
  return groups > 0 && text[0] != group && (text[0] == '.' || text[0] == ',') && all_digits(text.substr(1));
}

bool has_unit(std::string_view text) {
  const std::string_view all = text = trimmed(text);
  if (text.starts_with('-')) text.remove_prefix(1);
  // The minus sign and the en dash, which people write for a minus; then $, pound and euro.
  for (const std::string_view sign : {"\xe2\x88\x92", "\xe2\x80\x93", "$", "\xc2\xa3", "\xe2\x82\xac"}) {
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
  }
  for (const std::string_view unit : {"%", "USD", "EUR", "GBP", "CHF", "JPY", "\xe2\x82\xac", "\xc2\xa3"}) {
    if (text.ends_with(unit)) text.remove_suffix(unit.size());
  }
  text = trimmed(text);
  double value = 0;
  return text.size() + (all.starts_with('-') ? 1 : 0) < all.size() &&
         (parse_number(text, value) == NumberStatus::ok || has_grouped_digits(text));
}

bool looks_like_date(std::string_view text) {
  if (text.size() > 40) return false;
  if (is_time(text)) return true;
  Moment moment;
  const auto reads = [&](const TimeFormat& format) { return format.parse(text, moment); };
  if (names_month(text)) return std::ranges::any_of(usual_time_formats(), reads);
  std::string_view rest = text;
  const size_t before = rest.size();
  const int first = take_number(rest, 4);
  const size_t digits = before - rest.size();
  if (first < 0 || rest.empty()) return false;
  const char separator = rest[0];
  if (!take(rest, "-/.")) return false;
  const int second = take_number(rest, 2);
  if (rest.empty() && separator == '-') return digits == 4 && first > 1000 && second >= 1 && second <= 12;
  if (second < 1 || second > 31 || rest.empty() || rest[0] != separator) return false;
  rest.remove_prefix(1);
  const int third = take_number(rest, 4);
  const bool year_first = digits == 4 && first > 1000 && second <= 12 && third >= 1 && third <= 31;
  const bool year_last = digits <= 2 && first >= 1 && first <= 31 && third >= 0 && (first <= 12 || second <= 12);
  if (!year_first && !year_last) return false;
  return rest.empty() || (take(rest, "T t") && is_time(rest));
}

std::string alike_texts(const std::vector<std::string>& texts) {
  constexpr size_t kMostShown = 3;
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string& text : texts) {
    if (!text.empty()) groups[lower_case(trimmed(text))].push_back(quote(text));
  }
  std::string out;
  size_t shown = 0;
  for (const auto& [form, group] : groups) {
    if (group.size() < 2 || ++shown > kMostShown) continue;
    out += cat(out.empty() ? "" : ", ", join(group));
  }
  if (out.empty()) return out;
  return cat(out, shown > kMostShown ? " and others" : "", " differ only in letter case or blanks, and stay apart");
}

bool sounds_like_identifier(std::string_view name) {
  static const std::vector<std::string> kWords = {"id",  "index",    "uuid",  "guid",      "key",
                                                  "row", "rownames", "rowid", "unnamed: 0"};
  const std::string low = lower_case(name);
  return contains(kWords, low) || low.ends_with("_id") || low.ends_with(" id") || low.ends_with("-id") ||
         name.ends_with("Id") || (name.size() > 2 && name.ends_with("ID"));
}

}  // namespace millrace
