#include "bench/budgets/data.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "millrace/core/text.h"

namespace millrace::bench {

namespace fs = std::filesystem;

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

fs::path folder_of(const std::string& in_folder, int64_t rows, int64_t files) {
  return fs::path(in_folder) / cat("rows-f32-", rows, "-in-", files);
}

}  // namespace

std::string data_file(const std::string& in_folder) {
  const fs::path path = fs::path(in_folder) / "rows-f32.csv";
  if (!fs::exists(path)) {
    fs::create_directories(path.parent_path());
    const fs::path partial = path.string() + ".partial";
    std::ofstream(partial, std::ios::binary) << random_rows(kRowsOfFile, Digits::f32);
    fs::rename(partial, path);
  }
  return path.string();
}

Files data_files(const std::string& in_folder, int64_t rows, int64_t files) {
  const fs::path folder = folder_of(in_folder, rows, files);
  if (!fs::exists(folder)) {
    std::ifstream in(data_file(in_folder), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const std::vector<std::string_view> lines = lines_of(text);
    const fs::path partial = folder.string() + ".partial";
    fs::create_directories(partial);
    size_t line = 0;
    for (int64_t file = 0; file < files; ++file) {
      char name[32];
      std::snprintf(name, sizeof name, "%06d.csv", static_cast<int>(file));
      std::ofstream out(partial / name, std::ios::binary);
      for (int64_t row = 0; row < rows / files; ++row) out << lines[line++ % lines.size()];
    }
    fs::rename(partial, folder);
  }
  return {(folder / "*.csv").string(), rows};
}

Files fresh_data_files(const std::string& in_folder, int64_t rows, int64_t files) {
  fs::remove_all(folder_of(in_folder, rows, files));
  return data_files(in_folder, rows, files);
}

}  // namespace millrace::bench
