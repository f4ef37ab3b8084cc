#include "millrace/input/files/stream_file.h"

#include <cstring>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {

namespace {

// How much is asked for at once: the capacity of a pipe on Linux.
constexpr size_t kReadBytes = 65536;

// How many parts may wait.
constexpr size_t kPartsAhead = 4;

// A part also ends after so many bytes without a line end. No record may be that long.
constexpr size_t kMostWithoutLineEnd = size_t{32} << 20;

}  // namespace

StreamFile::~StreamFile() {
  interrupt();
  if (thread_.joinable()) thread_.join();
}

uint64_t StreamFile::memory_bound(size_t part_bytes) {
  return (kPartsAhead + 1) * part_bytes + 2 * kMostWithoutLineEnd + kReadBytes;
}

void StreamFile::set_wake(std::function<void()> wake) {
  const MutexLock lock(wake_mutex_);
  wake_ = std::move(wake);
}

void StreamFile::start() const {
  if (std::exchange(started_, true)) return;
  auto* self = const_cast<StreamFile*>(this);
  try {
    thread_ = std::thread([self] { self->fetch(); });
  } catch (...) {
    // The first take() throws this, instead of waiting for a thread that does not exist.
    self->failure_ = as_error(std::current_exception(), "could not start a thread");
    self->ended_ = true;
  }
}

bool StreamFile::ready() {
  const MutexLock lock(mutex_);
  start();
  return !waiting_.empty() || ended_ || interrupted_;
}

bool StreamFile::at_end() const {
  const MutexLock lock(mutex_);
  return waiting_.empty() && ended_ && !failure_;
}

std::shared_ptr<const StreamPart> StreamFile::take() {
  const MutexLock lock(mutex_);
  start();
  while (waiting_.empty() && !ended_ && !interrupted_) mutex_.wait(more_);
  if (interrupted_) return nullptr;
  if (waiting_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return nullptr;
  }
  while (!taken_.empty() && taken_.front().expired()) taken_.pop_front();
  taken_.push_back(waiting_.front());
  std::shared_ptr<const StreamPart> part = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= part->bytes.size();
  room_.notify_one();
  return part;
}

size_t StreamFile::read(uint64_t offset, void* to, size_t bytes) const {
  const MutexLock lock(mutex_);
  start();
  ++readers_;
  room_.notify_one();
  size_t got = 0;
  for (;;) {
    got = copy_held(offset, static_cast<char*>(to), bytes);
    if (got > 0 || ended_ || interrupted_) break;
    mutex_.wait(more_);
  }
  --readers_;
  if (got == 0 && failure_ && !interrupted_) std::rethrow_exception(failure_);
  return got;
}

void StreamFile::interrupt() noexcept {
  {
    const MutexLock lock(mutex_);
    interrupted_ = true;
  }
  if (bytes_) bytes_->interrupt();  // none if wrap_bytes() failed
  more_.notify_all();
  room_.notify_all();
}

size_t StreamFile::copy_held(uint64_t offset, char* to, size_t bytes) const {
  size_t done = 0;
  const auto copy_from = [&](const StreamPart& part) {
    if (done == bytes || offset < part.begin || offset >= part.end()) return;
    const size_t count = part.bytes.copy(to + done, bytes - done, static_cast<size_t>(offset - part.begin));
    done += count;
    offset += count;
  };
  for (const auto& taken : taken_) {
    if (const auto part = taken.lock()) copy_from(*part);
  }
  for (const auto& part : waiting_) copy_from(*part);
  copy_from(rest_);
  return done;
}

bool StreamFile::may_read_on() const {
  return interrupted_ || readers_ > 0 || waiting_.empty() || waiting_bytes_ < kPartsAhead * part_bytes_;
}

void StreamFile::fetch() noexcept {
  std::vector<char> buffer;
  for (;;) {
    size_t got = 0;
    std::exception_ptr failure;
    try {
      buffer.resize(kReadBytes);
      got = bytes_->read(buffer.data(), buffer.size());
    } catch (...) {
      failure = as_error(std::current_exception(), "reading a stream");
    }
    bool goes_on = false;
    {
      const MutexLock lock(mutex_);
      try {
        if (got > 0) add(buffer.data(), got);
        if (got == 0 && !failure && !rest_.bytes.empty()) hand_on_rest();
      } catch (...) {
        failure = as_error(std::current_exception(), "reading a stream");
      }
      failure_ = failure;
      ended_ = got == 0 || failure;
      goes_on = !ended_ && !interrupted_;
    }
    more_.notify_all();
    {
      const MutexLock lock(wake_mutex_);
      if (wake_) wake_();
    }
    if (!goes_on) return;
    const MutexLock lock(mutex_);
    while (!may_read_on()) mutex_.wait(room_);
    if (interrupted_) return;
  }
}

void StreamFile::add(const char* data, size_t size) {
  const bool has_line_end = std::memchr(data, '\n', size) != nullptr;
  rest_.bytes.append(data, size);
  if (has_line_end) {
    cut_lines();
  } else if (rest_.bytes.size() > kMostWithoutLineEnd) {
    hand_on_rest();
  }
}

void StreamFile::hand_on_rest() {
  hand_on(rest_.bytes);
  rest_ = {.begin = rest_.begin + rest_.bytes.size()};
}

// Hands on the whole lines of rest_, in pieces that fit into a part.
void StreamFile::cut_lines() {
  std::string_view left = rest_.bytes;
  for (;;) {
    size_t end = left.rfind('\n', part_bytes_ - 1);
    if (end == left.npos) end = left.find('\n');
    if (end == left.npos) break;
    hand_on(left.substr(0, end + 1));
    left.remove_prefix(end + 1);
  }
  rest_ = {.begin = rest_.begin + (rest_.bytes.size() - left.size()), .bytes = std::string(left)};
}

// `bytes` lie in rest_, and follow the last part.
void StreamFile::hand_on(std::string_view bytes) {
  if (waiting_.empty() || waiting_.back()->bytes.size() + bytes.size() > part_bytes_) {
    const uint64_t begin = rest_.begin + static_cast<uint64_t>(bytes.data() - rest_.bytes.data());
    waiting_.push_back(std::make_shared<StreamPart>(StreamPart{.begin = begin}));
  }
  waiting_.back()->bytes += bytes;
  waiting_bytes_ += bytes.size();
}

}  // namespace millrace
