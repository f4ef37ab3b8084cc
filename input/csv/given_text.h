// An op that stands in the place of the ops which read text from files, in a graph whose text a program gives
// (RowTransforms::decode). The text is CSV with these columns, and every record of it is a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/op.h"

namespace millrace {

// How a program writes text with the columns `names`. No byte of `splits` is its quote, so that each may stand between
// the values of a field.
CsvDialect given_text_dialect(std::vector<std::string> names, std::string_view splits);

OpRegistry::Entry given_text_op(const CsvDialect& dialect);

}  // namespace millrace
