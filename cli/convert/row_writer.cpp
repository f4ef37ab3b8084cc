#include "millrace/cli/convert/row_writer.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

struct RowFormat {
  std::string_view name;
  std::unique_ptr<RowWriter> (*make)(const RowWriterArgs&);
};

constexpr RowFormat kRowFormats[] = {
    {"csv", make_csv_writer}, {"npz", make_npz_writer}, {"tfrecord", make_tfrecord_writer}};

}  // namespace

std::string row_formats() {
  std::string out;
  for (const RowFormat& format : kRowFormats) out += cat(out.empty() ? "" : "|", format.name);
  return out;
}

std::unique_ptr<RowWriter> make_row_writer(std::string_view format, const RowWriterArgs& args) {
  try {
    return std::ranges::find(kRowFormats, format, &RowFormat::name)->make(args);
  } catch (const ConfigError& error) {
    // Its place is in this program, if it has one.
    throw ConfigError(error.message(), {cat("--to ", format)}, error.hint());
  }
}

}  // namespace millrace::cli
