#include "millrace/input/csv/open_files.h"

#include <algorithm>

#include "millrace/input/graph/file_check.h"

namespace millrace {

std::shared_ptr<const File> OpenFiles::get(const FileEntry& entry) {
  if (entry.stream) return entry.stream;
  if (auto found = find(entry.index)) return found;
  // Opening may block for long (a network), so the others are not kept from theirs meanwhile.
  std::shared_ptr<const File> file = files_.open(entry.path);
  if (const uint64_t size = file->size(); size < entry.size) throw_shrunk(entry, size);
  if (auto found = find(entry.index)) return found;
  const std::lock_guard lock(mutex_);
  open_.emplace_front(entry.index, file);
  if (open_.size() > limit_) open_.pop_back();
  return file;
}

std::shared_ptr<const File> OpenFiles::find(uint32_t index) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) { return open.first == index; });
  if (found == open_.end()) return nullptr;
  open_.splice(open_.begin(), open_, found);
  return found->second;
}

}  // namespace millrace
