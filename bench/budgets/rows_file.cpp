#include "bench/budgets/rows_file.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "millrace/core/text.h"

namespace millrace::bench {

std::string rows_file(const Setting& setting, const std::string& name, const std::string& header) {
  const std::string path = cat(setting.folder, '/', name);
  if (std::filesystem::exists(path)) return path;
  std::filesystem::create_directories(setting.folder);
  std::ofstream out(path, std::ios::binary);
  out << header;
  std::vector<float> row(kRowBytes / sizeof(float));
  for (int64_t i = 0; i < kRows; ++i) {
    for (size_t column = 0; column < row.size(); ++column)
      row[column] = static_cast<float>(i) + static_cast<float>(column);
    out.write(reinterpret_cast<const char*>(row.data()), kRowBytes);
  }
  return path;
}

}  // namespace millrace::bench
