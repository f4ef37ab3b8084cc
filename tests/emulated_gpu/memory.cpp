#include "tests/emulated_gpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/emulated_gpu/sanitizers.h"

namespace millrace::emulation {

namespace {

constexpr size_t kDeviceBytes = size_t{512} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
// Of a block, what is filled when it is taken and when it is given back.
constexpr size_t kFilled = size_t{1} << 20;
constexpr size_t kAlignment = 256;
// Nobody's, behind every block.
constexpr size_t kGap = 256;

class Arena {
 public:
  Arena() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const data = mmap(nullptr, kDeviceBytes + kHugePage, PROT_NONE, kFlags, -1, 0);
    if (data == MAP_FAILED) violation("no address space for the memory of a device");
    begin_ = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(data) + kHugePage - 1) / kHugePage * kHugePage);
    // What is opened and closed takes as long as there are pages.
    madvise(begin_, kDeviceBytes, MADV_HUGEPAGE);
    holes_.emplace(0, kDeviceBytes);
  }

  void protect(int protection) const { mprotect(begin_, kDeviceBytes, protection); }
  bool holds(const void* data) const { return data >= begin_ && data < begin_ + kDeviceBytes; }
  size_t free_bytes() const { return free_; }

  void* take(size_t bytes) {
    if (bytes > kDeviceBytes) return nullptr;
    const size_t wanted = (bytes + kGap + kAlignment - 1) / kAlignment * kAlignment;
    // From where the last one was taken on, so that what is freed is not used again at once.
    for (auto hole = holes_.lower_bound(next_); hole != holes_.end(); ++hole) {
      if (hole->second >= wanted) return take_from(hole, bytes, wanted);
    }
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= wanted) return take_from(hole, bytes, wanted);
    }
    return nullptr;
  }

  bool give(void* data) {
    const auto block = blocks_.find(offset_of(data));
    if (block == blocks_.end()) return false;
    std::memset(data, 0xff, std::min(block->second.bytes, kFilled));
    forbid(data, block->second.bytes);
    free_ += block->second.taken;
    auto hole = holes_.emplace(block->first, block->second.taken).first;
    blocks_.erase(block);
    if (const auto after = std::next(hole); after != holes_.end() && hole->first + hole->second == after->first) {
      hole->second += after->second;
      holes_.erase(after);
    }
    if (hole == holes_.begin()) return true;
    if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      holes_.erase(hole);
    }
    return true;
  }

  size_t room_at(const void* data) const {
    const size_t offset = offset_of(data);
    auto block = blocks_.upper_bound(offset);
    if (block == blocks_.begin()) return 0;
    --block;
    const size_t end = block->first + block->second.bytes;
    return end > offset ? end - offset : 0;
  }

 private:
  struct Block {
    size_t bytes, taken;
  };
  using Holes = std::map<size_t, size_t>;  // bytes by offset

  size_t offset_of(const void* data) const { return static_cast<size_t>(static_cast<const std::byte*>(data) - begin_); }

  void* take_from(Holes::iterator hole, size_t bytes, size_t wanted) {
    const auto [offset, room] = *hole;
    holes_.erase(hole);
    if (room > wanted) holes_.emplace(offset + wanted, room - wanted);
    blocks_[offset] = {bytes, wanted};
    next_ = offset + wanted;
    free_ -= wanted;
    allow(begin_ + offset, bytes);
    forbid(begin_ + offset + bytes, wanted - bytes);
    std::memset(begin_ + offset, 0xff, std::min(bytes, kFilled));
    return begin_ + offset;
  }

  std::byte* begin_ = nullptr;
  Holes holes_;
  std::map<size_t, Block> blocks_;
  size_t next_ = 0, free_ = kDeviceBytes;
};

// Null where nothing was taken of the device's memory yet.
std::unique_ptr<Arena>& arena(int device) {
  static std::unique_ptr<Arena> arenas[kMostDevices];
  return arenas[device];
}

void protect_all(int protection) {
  for (int device = 0; device < kMostDevices; ++device) {
    if (arena(device)) arena(device)->protect(protection);
  }
}

struct Pinned {
  size_t bytes;
  std::shared_ptr<void> users;  // as many as its use count says, but one
};
std::map<const std::byte*, Pinned>& pinned_blocks() {
  static std::map<const std::byte*, Pinned> blocks;
  return blocks;
}

auto pinned_block(const void* data) {
  auto& blocks = pinned_blocks();
  auto block = blocks.upper_bound(static_cast<const std::byte*>(data));
  if (block == blocks.begin()) return blocks.end();
  --block;
  return static_cast<const std::byte*>(data) < block->first + block->second.bytes ? block : blocks.end();
}

int open_depth = 0;

}  // namespace

MemoryOpen::MemoryOpen() {
  if (open_depth++ == 0) protect_all(PROT_READ | PROT_WRITE);
}

MemoryOpen::~MemoryOpen() {
  if (--open_depth == 0) protect_all(PROT_NONE);
}

void* take_memory(int device, size_t bytes) {
  if (!arena(device)) arena(device) = std::make_unique<Arena>();
  const MemoryOpen open;
  return arena(device)->take(bytes);
}

bool give_memory(void* data) {
  const MemoryOpen open;
  const int device = device_of(data);
  return device >= 0 && arena(device)->give(data);
}

size_t room_at(const void* data) {
  const int device = device_of(data);
  return device >= 0 ? arena(device)->room_at(data) : 0;
}

int device_of(const void* data) {
  for (int device = 0; device < kMostDevices; ++device) {
    if (arena(device) && arena(device)->holds(data)) return device;
  }
  return -1;
}

size_t free_memory(int device) { return arena(device) ? arena(device)->free_bytes() : kDeviceBytes; }

size_t total_memory() { return kDeviceBytes; }

void* take_pinned(size_t bytes) {
  void* const data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xff, bytes);
  pinned_blocks()[static_cast<const std::byte*>(data)] = {bytes, std::make_shared<int>()};
  return data;
}

bool give_pinned(void* data) {
  const auto block = pinned_blocks().find(static_cast<const std::byte*>(data));
  if (block == pinned_blocks().end()) return false;
  if (block->second.users.use_count() > 1) violation("pinned memory is freed while a copy that uses it waits");
  pinned_blocks().erase(block);
  std::free(data);
  return true;
}

size_t pinned_room_at(const void* data) {
  const auto block = pinned_block(data);
  if (block == pinned_blocks().end()) return 0;
  return static_cast<size_t>(block->first + block->second.bytes - static_cast<const std::byte*>(data));
}

std::shared_ptr<void> use_pinned(const void* data) {
  const auto block = pinned_block(data);
  return block == pinned_blocks().end() ? nullptr : block->second.users;
}

}  // namespace millrace::emulation
