// Which row groups of a file may have rows that a condition keeps, by the least and greatest values that the file
// tells.
#pragma once

#include <vector>

#include "millrace/input/parquet/footer.h"
#include "millrace/input/parquet/table_reader.h"
#include "millrace/input/source.h"

namespace millrace {

// For each row group of the table, whether no row of it is needed. `file` is the table's. The bounds are read again, so
// that they take memory only for this. Throws as ParquetFooter does.
std::vector<bool> unneeded_groups(const ParquetTable& table, const File& file, const RowCondition& condition);

}  // namespace millrace
