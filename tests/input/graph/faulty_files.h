// FaultyFiles: passes every call on to another file system, counts them, and lets one go wrong.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/input/files/file_system.h"

namespace millrace::testing_support {

enum class Fault {
  none,
  error,   // the call fails
  shrink,  // from this call on the file has half of its bytes
  grow,    // from this call on it has more
  vanish,  // from this call on it cannot be opened; whoever has it open goes on
};

class FaultyFiles : public FileSystem {
 public:
  explicit FaultyFiles(FileSystem& files) : files_(files) {}

  // Calls count anew, from 0: open, size and read, of files and of streams. Call `number` has the fault; with
  // `reads_only`, nothing else counts. While nothing uses this.
  void arm(Fault fault, int64_t number, bool reads_only = false) {
    fault_ = fault;
    number_ = number;
    reads_only_ = reads_only;
    calls_ = 0;
    met_ = false;
    path_.clear();
  }
  // Of a stream, at most so many bytes come at once.
  void set_most_bytes(size_t bytes) { most_bytes_ = bytes; }

  int64_t calls() const { return calls_; }
  // Whether it came to the fault; then, with which file and when.
  bool met() const { return met_.load(std::memory_order_acquire); }
  const std::string& path() const { return path_; }
  std::chrono::steady_clock::time_point time() const { return time_; }

  std::unique_ptr<File> open(const std::string& path) override {
    count(path, false);
    if (has(Fault::vanish, path)) throw IoError("cannot open the file: No such file or directory", {path});
    return std::make_unique<FaultyFile>(*this, path, files_.open(path));
  }
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override {
    count(path, false);
    return std::make_unique<FaultyStream>(*this, path, files_.open_stream(path));
  }
  Type type(const std::string& path) override { return files_.type(path); }
  bool same(const std::string& a, const std::string& b) override { return files_.same(a, b); }
  std::vector<std::string> match(const std::string& pattern) override { return files_.match(pattern); }
  std::vector<std::string> list(const std::string& folder) override { return files_.list(folder); }

 private:
  static constexpr uint64_t kMore = 50;

  class FaultyFile : public File {
   public:
    FaultyFile(FaultyFiles& owner, std::string path, std::unique_ptr<File> file)
        : owner_(owner), path_(std::move(path)), file_(std::move(file)) {}
    uint64_t size() const override {
      owner_.count(path_, false);
      return size_now();
    }
    size_t read(uint64_t offset, void* to, size_t bytes) const override {
      owner_.count(path_, true);
      const uint64_t end = size_now(), there = file_->size();
      bytes = static_cast<size_t>(std::min<uint64_t>(bytes, end - std::min(offset, end)));
      const size_t old = offset < there ? file_->read(offset, to, std::min<size_t>(bytes, there - offset)) : 0;
      if (bytes > old) std::memset(static_cast<char*>(to) + old, 'x', bytes - old);
      return bytes;
    }

   private:
    uint64_t size_now() const {
      const uint64_t size = file_->size();
      if (owner_.has(Fault::shrink, path_)) return size / 2;
      return owner_.has(Fault::grow, path_) ? size + kMore : size;
    }

    FaultyFiles& owner_;
    const std::string path_;
    std::unique_ptr<File> file_;
  };

  class FaultyStream : public ByteStream {
   public:
    FaultyStream(FaultyFiles& owner, std::string path, std::unique_ptr<ByteStream> stream)
        : owner_(owner), path_(std::move(path)), stream_(std::move(stream)) {}
    size_t read(void* to, size_t bytes) override {
      owner_.count(path_, true);
      return stream_->read(to, std::min(bytes, owner_.most_bytes_));
    }
    void interrupt() noexcept override { stream_->interrupt(); }

   private:
    FaultyFiles& owner_;
    const std::string path_;
    std::unique_ptr<ByteStream> stream_;
  };

  void count(const std::string& path, bool is_read) {
    if (reads_only_ && !is_read) return;
    if (calls_.fetch_add(1) != number_ || fault_ == Fault::none) return;
    path_ = path;
    time_ = std::chrono::steady_clock::now();
    met_.store(true, std::memory_order_release);
    if (fault_ == Fault::error) throw IoError("the injected fault", {path});
  }
  bool has(Fault fault, const std::string& path) const { return fault_ == fault && met() && path_ == path; }

  FileSystem& files_;
  Fault fault_ = Fault::none;
  int64_t number_ = 0;
  bool reads_only_ = false;
  size_t most_bytes_ = SIZE_MAX;
  std::atomic<int64_t> calls_ = 0;
  // Set once a run, before met_.
  std::string path_;
  std::chrono::steady_clock::time_point time_;
  std::atomic<bool> met_ = false;
};

}  // namespace millrace::testing_support
