// StreamFile: data that come once, in order (standard input, a pipe), as a File that holds only its newest bytes.
//
// Its own thread waits for the data, and reads up to a limit ahead of the code that takes them. The data are handed on
// in parts that end after a line end, so that a part is likely to hold whole records. The bytes after a part can be
// read until someone has taken and dropped them. Thread-safe; the thread begins with the first call that asks for data.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "millrace/core/export.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

// Bytes of a stream, from `begin` on. Constant after take() has given it.
struct StreamPart {
  uint64_t begin = 0;
  std::string bytes = {};
  bool at_record = true;  // a guess: whether a record begins there

  uint64_t end() const { return begin + bytes.size(); }
};

class MILLRACE_EXPORT StreamFile final : public File {
 public:
  // The value that size() returns, because the size is not known; no offset reaches it.
  static constexpr uint64_t kUnknownSize = uint64_t{1} << 60;

  explicit StreamFile(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {}
  // Interrupts.
  ~StreamFile() override;

  // The most bytes of a part, unless a line is longer. Called before the first call that asks for data.
  void set_part_bytes(size_t bytes) { part_bytes_ = bytes; }
  // Reads what `wrap` makes of the bytes. Called likewise.
  template <class Wrap>
  void wrap_bytes(const Wrap& wrap) {
    bytes_ = wrap(std::move(bytes_));
  }
  // Upper bound of the bytes that are held, not counting the parts that were taken.
  static uint64_t memory_bound(size_t part_bytes);
  // `wake` is called, by another thread, when ready() may have become true. After set_wake() has returned, the earlier
  // `wake` is not running any more.
  void set_wake(std::function<void()> wake);

  // Whether take() can answer at once.
  bool ready();
  // Whether there is nothing more to take. False while that is not known.
  bool at_end() const;
  // The next part, for which it waits; none at the end and after interrupt(). Throws IoError if reading failed.
  std::shared_ptr<const StreamPart> take();
  // Reads what is there at `offset`. Waits for at least one byte; returns 0 at the end and after interrupt().
  size_t read(uint64_t offset, void* to, size_t bytes) const override;
  uint64_t size() const override { return kUnknownSize; }
  // Ends all waits; no more data come.
  void interrupt() noexcept;

 private:
  void start() const MILLRACE_REQUIRES(mutex_);
  void add(const char* data, size_t size) MILLRACE_REQUIRES(mutex_);
  void cut_lines() MILLRACE_REQUIRES(mutex_);
  void hand_on_rest() MILLRACE_REQUIRES(mutex_);
  void hand_on(std::string_view bytes) MILLRACE_REQUIRES(mutex_);
  size_t copy_held(uint64_t offset, char* to, size_t bytes) const MILLRACE_REQUIRES(mutex_);
  bool may_read_on() const MILLRACE_REQUIRES(mutex_);

  void fetch() noexcept;

  std::unique_ptr<ByteStream> bytes_;  // constant once data are asked for
  size_t part_bytes_ = 262144;

  mutable Mutex mutex_;
  mutable std::condition_variable more_, room_;
  // Parts that were not taken yet; the last may grow.
  std::deque<std::shared_ptr<StreamPart>> waiting_ MILLRACE_GUARDED_BY(mutex_);
  // Parts that were taken, for readers of the bytes after a part.
  std::deque<std::weak_ptr<const StreamPart>> taken_ MILLRACE_GUARDED_BY(mutex_);
  StreamPart rest_ MILLRACE_GUARDED_BY(mutex_);  // the bytes after the last line end
  size_t waiting_bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
  mutable int readers_ MILLRACE_GUARDED_BY(mutex_) = 0;  // how many calls of read() wait for bytes after a part
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false, interrupted_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ MILLRACE_GUARDED_BY(mutex_);
  mutable bool started_ MILLRACE_GUARDED_BY(mutex_) = false;
  mutable std::thread thread_ MILLRACE_GUARDED_BY(mutex_);

  Mutex wake_mutex_;
  std::function<void()> wake_ MILLRACE_GUARDED_BY(wake_mutex_);
};

}  // namespace millrace
