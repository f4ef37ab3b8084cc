// Texts of dates and times (TimeFormat) as seconds since 1970, in an ONNX graph.
#pragma once

#include <string>

#include "millrace/input/csv/time_format.h"
#include "millrace/input/onnx_rows.h"

namespace millrace {

// Seconds for the texts, of the type float64 or, without fractions, int64. Rows are refused whose text is not such a
// date or time and is not missing, which `missing` says for each text. Needs ops of version 20. Texts are cut at what
// stands between their parts, so they must be written as the format says: ISO 8601 with dashes and colons, names of
// months in the usual cases. Throws ConfigError for a format that cannot be cut so.
OnnxValue add_seconds(const TimeFormat& format, OnnxType type, OnnxValue texts, OnnxValue missing, OnnxRows& rows);

}  // namespace millrace
