#include "millrace/input/files/open_files.h"

#include <algorithm>
#include <utility>

#include "millrace/input/files/file_check.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

OpenedFile OpenFiles::get(const FileEntry& entry) {
  if (entry.stream) return {entry.stream};
  {
    const MutexLock lock(mutex_);
    if (auto found = find(entry.index)) return {found};
  }
  // Opening may block for long (a network), so the others are not kept from theirs meanwhile.
  std::shared_ptr<const File> file = files_.open(entry.path);
  if (const uint64_t size = file->size_at_open(); size < entry.size) throw_shrunk(entry, size);
  std::shared_ptr<const File> closed;  // behind the lock: closing may block, too
  const MutexLock lock(mutex_);
  if (auto found = find(entry.index)) return {found};
  const bool stays = file->may_stay_open();
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

}  // namespace millrace
