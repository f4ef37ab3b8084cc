#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace millrace::testing_support {

// Memory between pages that cannot be read.
class GuardedText {
 public:
  GuardedText() {
    void* mapped = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    pages_ = static_cast<char*>(mapped);
    if (mprotect(pages_, kPage, PROT_NONE) != 0 || mprotect(pages_ + 2 * kPage, kPage, PROT_NONE) != 0) std::abort();
  }
  ~GuardedText() { munmap(pages_, 3 * kPage); }
  GuardedText(const GuardedText&) = delete;
  GuardedText& operator=(const GuardedText&) = delete;

  static constexpr size_t kPage = 4096;
  const char* at_the_start(const std::string& text) { return copy(text, 0); }
  const char* at_the_end(const std::string& text) { return copy(text, kPage - text.size()); }

 private:
  const char* copy(const std::string& text, size_t offset) {
    std::memcpy(pages_ + kPage + offset, text.data(), text.size());
    return pages_ + kPage + offset;
  }
  char* pages_;
};

}  // namespace millrace::testing_support
