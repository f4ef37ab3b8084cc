#include "bench/budgets/data.h"

#include <filesystem>
#include <fstream>

namespace millrace::bench {

std::string data_file(const Setting& setting) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(setting.folder) / "rows-f32.csv";
  if (!fs::exists(path)) {
    fs::create_directories(path.parent_path());
    const fs::path partial = path.string() + ".partial";
    std::ofstream(partial, std::ios::binary) << random_rows(kRowsOfFile, Digits::f32);
    fs::rename(partial, path);
  }
  return path.string();
}

}  // namespace millrace::bench
