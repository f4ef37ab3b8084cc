#include "millrace/input/files/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

Mutex turns_mutex;
std::condition_variable turn_given_back;
uint64_t turns_taken MILLRACE_GUARDED_BY(turns_mutex) = 0;

}  // namespace

uint64_t most_descriptors() {
  rlimit files = {};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

ReadingTurn::ReadingTurn() {
  const uint64_t most = std::max<uint64_t>(most_descriptors() / 4, 1);
  const MutexLock lock(turns_mutex);
  while (turns_taken >= most) turns_mutex.wait(turn_given_back);
  ++turns_taken;
}

ReadingTurn::~ReadingTurn() {
  {
    const MutexLock lock(turns_mutex);
    --turns_taken;
  }
  turn_given_back.notify_one();
}

OpenedFile OpenFiles::get(const FileEntry& entry) {
  if (entry.stream) return {entry.stream};
  {
    const MutexLock lock(mutex_);
    if (auto found = find(entry.index)) return {found};
  }
  // Opening may block for long (a network), so no lock is held meanwhile.
  std::shared_ptr<const File> file = files_.open(entry.path);
  if (const uint64_t size = file->size_at_open(); size < entry.size) throw_shrunk(entry, size);
  const bool stays = file->may_stay_open();
  std::shared_ptr<const File> closed;  // outlives the lock: closing may block, too
  const MutexLock lock(mutex_);
  if (auto found = find(entry.index)) return {found};
  if (!open_.empty() && (!stays || open_.size() >= limit_)) {
    const auto oldest = std::ranges::min_element(open_, {}, &Open::used);
    closed = std::move(oldest->file);
    open_.erase(oldest);
  }
  if (stays) open_.push_back({entry.index, ++uses_, file});
  return {file, true};
}

std::shared_ptr<const File> OpenFiles::find(uint32_t index) {
  const auto found = std::ranges::find(open_, index, &Open::index);
  if (found == open_.end()) return nullptr;
  found->used = ++uses_;
  return found->file;
}

FileDigest digest_of(const FileEntry& entry, FileSystem& files) {
  const auto file = files.open(entry.path);
  std::array<char, FileDigest::kBlockBytes> block;
  const auto bytes = static_cast<size_t>(std::min(entry.size, FileDigest::kBlockBytes));
  const auto hash_at = [&](uint64_t offset) {
    const size_t got = file->read(offset, block.data(), bytes);
    if (got < bytes) throw_shrunk(entry, std::min(offset + got, file->size()));
    return fnv1a64(std::string_view(block.data(), bytes));
  };
  return {hash_at(0), hash_at(entry.size - bytes)};
}

void throw_shrunk(const FileEntry& entry, uint64_t size) {
  throw IoError(cat("the file is shorter than when the run began: expected ", entry.size, " bytes, got ", size),
                {.file = entry.path}, "do not write to input files while they are read");
}

}  // namespace millrace
