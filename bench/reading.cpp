// Measures how the input path reads: sizes of chunks, threads, files in the page cache and not.
//
//   reading FILE|FOLDER cached|cold [ROUNDS]
//
// FILE holds text as in bench/budgets/texts.h. In a FOLDER, a file of 402 MB is made.
//
// Every way of reading runs once in each round, in another order each time, so that other work of the machine, and the
// state that a run leaves, disturb all equally. Medians over the rounds.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/budgets/compare.h"
#include "bench/budgets/data.h"
#include "bench/budgets/input_path.h"
#include "millrace/core/errors.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

constexpr int64_t kRows = 36000;  // 402 MB

// The largest piece of advice that the system does not cut, if its read-ahead has the default size.
constexpr uint64_t kAdvice = 131072;

struct Descriptor {
  explicit Descriptor(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

// The share of a file that the page cache holds.
double cached_share(const Descriptor& file) {
  struct stat status = {};
  fstat(file.number, &status);
  const auto bytes = static_cast<size_t>(status.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number, 0);
  if (mapped == MAP_FAILED) return 1;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  mincore(mapped, bytes, pages.data());
  munmap(mapped, bytes);
  const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(pages.size());
}

// Takes the file out of the page cache.
void evict(const std::string& path) {
  const Descriptor file(path);
  fsync(file.number);
  posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED);
  if (const double left = cached_share(file); left > 0.001) {
    std::fprintf(stderr, "reading: %.1f %% of %s stayed in the page cache\n", 100 * left, path.c_str());
    std::exit(1);
  }
}

// Local files by `pread`, with advice to the system. Advice to read sequentially holds only for its own descriptor.
enum class Advice { as_it_is, sequential, will_need };

class AdvisedFile final : public File {
 public:
  AdvisedFile(const std::string& path, Advice advice, uint64_t ahead)
      : path_(path), descriptor_(path), advice_(advice), ahead_(ahead) {
    if (advice == Advice::sequential) posix_fadvise(descriptor_.number, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  uint64_t size() const override { return std::filesystem::file_size(path_); }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    if (advice_ == Advice::will_need) ask_for(offset == 0 ? 0 : offset + ahead_, offset + ahead_ + bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          pread(descriptor_.number, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0) throw IoError("cannot read the file", {path_});
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  void ask_for(uint64_t begin, uint64_t end) const {
    for (uint64_t at = begin; at < end; at += kAdvice) {
      posix_fadvise(descriptor_.number, static_cast<off_t>(at), static_cast<off_t>(std::min(kAdvice, end - at)),
                    POSIX_FADV_WILLNEED);
    }
  }

  const std::string path_;
  const Descriptor descriptor_;
  const Advice advice_;
  const uint64_t ahead_;
};

class AdvisedFiles final : public FileSystem {
 public:
  AdvisedFiles(Advice advice, uint64_t ahead) : advice_(advice), ahead_(ahead) {}
  std::unique_ptr<File> open(const std::string& path) override {
    return std::make_unique<AdvisedFile>(path, advice_, ahead_);
  }
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override { return local().open_stream(path); }
  Type type(const std::string& path) override { return local().type(path); }
  std::vector<std::string> match(const std::string& pattern) override { return local().match(pattern); }
  std::vector<std::string> list(const std::string& folder) override { return local().list(folder); }

 private:
  const Advice advice_;
  const uint64_t ahead_;
};

struct Way {
  int threads;
  int64_t chunk_bytes;
  const char* name;
  Advice advice = Advice::as_it_is;
  uint64_t ahead = 0;
  std::vector<double> wall = {}, processor = {};
};

void run(Way& way, const std::string& file, bool cold) {
  if (cold) evict(file);
  Executor executor(way.threads);
  const Spec list = input_list({.files = file, .threads = way.threads, .chunk_bytes = way.chunk_bytes});
  AdvisedFiles files(way.advice, way.ahead);
  const double wall = wall_seconds(), processor = process_seconds();
  const int64_t rows = read_all(executor, list, way.advice == Advice::as_it_is ? nullptr : &files);
  way.wall.push_back((wall_seconds() - wall) / static_cast<double>(rows));
  way.processor.push_back((process_seconds() - processor) / static_cast<double>(rows));
}

std::vector<Way> ways(bool cold) {
  constexpr uint64_t kMiB = 1 << 20;
  std::vector<Way> out;
  for (const int threads : std::set<int>{1, Executor::available_threads()}) {
    for (int64_t bytes = 65536; bytes <= 8 << 20; bytes *= cold ? 4 : 2) {
      out.push_back({threads, bytes, "as it is"});
      if (!cold && bytes != 262144) continue;
      out.push_back({threads, bytes, "sequential", Advice::sequential});
      out.push_back({threads, bytes, "will need 4 MiB ahead", Advice::will_need, 4 * kMiB});
      out.push_back({threads, bytes, "will need 16 MiB ahead", Advice::will_need, 16 * kMiB});
    }
  }
  return out;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count >= 3 ? words[2] : "";
  const int rounds = count == 4 ? std::atoi(words[3]) : 5;
  if ((what != "cached" && what != "cold") || count > 4 || rounds < 1) {
    std::fputs("usage: reading FILE|FOLDER cached|cold [ROUNDS]\n", stderr);
    return 2;
  }
  std::string file = words[1];
  if (std::filesystem::is_directory(file)) {
    file = std::filesystem::path(data_files(file, kRows, 1).pattern).parent_path() / "000000.csv";
  } else if (!std::filesystem::is_regular_file(file)) {
    std::fprintf(stderr, "reading: %s is neither a file nor a folder\n", file.c_str());
    return 1;
  }
  const bool cold = what == "cold";
  std::vector<Way> all = ways(cold);
  if (!cold) run(all.front(), file, false);  // brings the file into the page cache
  for (Way& way : all) way.wall.clear(), way.processor.clear();
  std::mt19937_64 random(1);
  std::vector<Way*> order;
  for (Way& way : all) order.push_back(&way);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Way* way : order) run(*way, file, cold);
  }
  std::printf(
      "| threads | chunk KiB | reading | krows/s | us of processor a row | least us |\n|---|---|---|---|---|---|\n");
  for (const Way& way : all) {
    std::printf("| %d | %4d | %-22s | %6.1f | %5.2f | %5.2f |\n", way.threads, static_cast<int>(way.chunk_bytes >> 10),
                way.name, 1e-3 / median(way.wall), 1e6 * median(way.processor),
                1e6 * *std::min_element(way.processor.begin(), way.processor.end()));
  }
  return 0;
}
