// Tells what the text of a value looks like: a number, a date, an identifier. Pure functions; any thread may call them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// The text without blanks and tabs around it.
std::string_view trimmed(std::string_view text);
bool contains(const std::vector<std::string>& texts, std::string_view text);
// Changes only the letters A to Z.
std::string lower_case(std::string_view text);

bool is_digit(char c);
bool all_digits(std::string_view text);  // at least one

// Whether `text` is a number with a decimal comma ("3,14", "-0,5"); a number with digits in groups ("1,234.5",
// "1.234,5").
bool has_decimal_comma(std::string_view text);
bool has_grouped_digits(std::string_view text);
// Whether `text` is a number with a unit, or with a dash for its minus sign: "$5", "12%", "5 EUR".
bool has_unit(std::string_view text);

// Whether `text` is a date or a time: 2024-01-31, 31/01/2024, 2024-01, 31 Jan 2024, 2024-01-31T10:00, 10:30.
bool looks_like_date(std::string_view text);

// Names the first few texts that differ only in letter case or in the blanks around them: `"Yes" and "yes" differ ..`;
// empty if there are none.
std::string alike_texts(const std::vector<std::string>& texts);

// Whether a column of this name probably holds identifiers: "id", "customer_id", "row".
bool sounds_like_identifier(std::string_view name);

}  // namespace millrace
