// Rows of an array and records of one length to batches, against a loop of pread over the same file on one thread.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/input_path.h"
#include "bench/budgets/rows_file.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::bench {

namespace {

constexpr size_t kPiece = 262144;

void pread_loop(const std::string& path) {
  std::vector<char> piece(kPiece);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int64_t at = 0;
  for (ssize_t got = 1; got > 0; at += got) got = ::pread(file, piece.data(), piece.size(), at);
  ::close(file);
}

Ratio path_over_pread(const Setting& setting, const std::string& path, const std::string& reader) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const Spec list = parse_yaml(cat(reader, "- batch: {batch_size: 256, threads: 2}\n"), "budget");
  Executor executor(2);
  return inverse(compare(
      setting.rounds, [&] { return timed(wall_seconds, [&] { pread_loop(path); }); },
      [&] { return timed(wall_seconds, [&] { read_all(executor, list); }); }));
}

Ratio npy_over_pread(const Setting& setting) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (65536, 1024), }";
  header.resize(117, ' ');
  const std::string path = rows_file(setting, "rows.npy", cat(std::string("\x93NUMPY\1\0v\0", 10), header, '\n'));
  return path_over_pread(setting, path, cat("- npy_reader: {fields: {features: ", path, "}, epochs: 1}\n"));
}

Ratio records_over_pread(const Setting& setting) {
  const std::string path = rows_file(setting, "rows.bin", "");
  return path_over_pread(setting, path,
                         cat("- filename_queue: {files: ", path, ", epochs: 1}\n- record_reader: {bytes: ", kRowBytes,
                             ", fields: {features: {type: float32, size: 1024}}}\n"));
}

}  // namespace

void add_array_budgets(Budgets& out) {
  out.push_back({"arrays/npy", "speed of rows to batches on 2 threads over pread", 0.8, true, npy_over_pread});
  out.push_back(
      {"arrays/records", "speed of records to batches on 2 threads over pread", 0.8, true, records_over_pread});
}

}  // namespace millrace::bench
