#include "millrace/input/lmdb/lmdb_page.h"

#include <bit>
#include <cstring>

#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr uint32_t kLmdbMagic = 0xBEEFC0DE;
// What a page is; other flags say how it was written.
constexpr uint16_t kBranchPage = 1, kLeafPage = 2, kBigPage = 4, kMetaPage = 8, kPageKinds = 0x6f;
constexpr size_t kNodeHeader = 8;

// LMDB stores numbers in the order of the machine.
template <class T>
T lmdb_number(std::string_view bytes, size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

bool is_page(std::string_view bytes, uint64_t number, uint16_t kind) {
  return lmdb_number<uint64_t>(bytes, 0) == number && (lmdb_number<uint16_t>(bytes, 10) & kPageKinds) == kind;
}

}  // namespace

DataError damaged_lmdb_page(uint64_t number) {
  return DataError(cat("page ", number, " of the database is damaged"), {},
                   "copy the database with mdb_copy, or write it again");
}

LmdbTree LmdbTree::read(std::string_view bytes) {
  return {.flags = lmdb_number<uint16_t>(bytes, 4),
          .rows = lmdb_number<uint64_t>(bytes, 32),
          .root = lmdb_number<uint64_t>(bytes, 40)};
}

LmdbMeta LmdbMeta::read(std::string_view bytes) {
  constexpr size_t kTrees = kLmdbPageHeader + 24;
  const bool is_meta = bytes.size() >= kBytes && (lmdb_number<uint16_t>(bytes, 10) & kMetaPage) != 0 &&
                       lmdb_number<uint32_t>(bytes, 16) == kLmdbMagic;
  if (!is_meta) {
    throw DataError("this is no LMDB database that this machine can read", {},
                    "was the file cut short, or written by another sort of machine?");
  }
  if (const auto format = lmdb_number<uint32_t>(bytes, 20); format != 1) {
    throw DataError(cat("the database is in format ", format, " of LMDB, format 1 (LMDB 0.9) is read"));
  }
  LmdbMeta out{.page_bytes = lmdb_number<uint32_t>(bytes, kTrees),
               .transaction = lmdb_number<uint64_t>(bytes, kBytes - 8),
               .main = LmdbTree::read(bytes.substr(kTrees + LmdbTree::kBytes))};
  const auto last = lmdb_number<uint64_t>(bytes, kBytes - 16);
  if (!std::has_single_bit(out.page_bytes) || out.page_bytes < 256 || out.page_bytes > kMostLmdbPage ||
      last >= uint64_t{1} << 47) {
    throw damaged_lmdb_page(lmdb_number<uint64_t>(bytes, 0));
  }
  out.pages = last + 1;
  return out;
}

LmdbPage::LmdbPage(std::string_view bytes, uint64_t number)
    : bytes_(bytes), number_(number), leaf_(is_page(bytes, number, kLeafPage)) {
  const size_t end = lmdb_number<uint16_t>(bytes, 12);
  if ((!leaf_ && !is_page(bytes, number, kBranchPage)) || end < kLmdbPageHeader || end > bytes.size()) {
    throw damaged_lmdb_page(number);
  }
  nodes_ = (end - kLmdbPageHeader) / 2;
}

LmdbNode LmdbPage::node(size_t index) const {
  const size_t at = lmdb_number<uint16_t>(bytes_, kLmdbPageHeader + 2 * index);
  if (at < kLmdbPageHeader + 2 * nodes_ || at + kNodeHeader > bytes_.size()) throw damaged_lmdb_page(number_);
  const std::string_view rest = bytes_.substr(at + kNodeHeader);
  const auto low = lmdb_number<uint32_t>(bytes_, at);
  const auto flags = lmdb_number<uint16_t>(bytes_, at + 4);
  const size_t key = lmdb_number<uint16_t>(bytes_, at + 6);
  if (key > rest.size()) throw damaged_lmdb_page(number_);
  LmdbNode out{.key = rest.substr(0, key)};
  if (!leaf_) {
    out.page = uint64_t{flags} << 32 | low;
    return out;
  }
  out.flags = flags;
  out.bytes = low;
  const bool big = (flags & LmdbNode::kBig) != 0;
  if ((big ? sizeof out.page : out.bytes) > rest.size() - key) throw damaged_lmdb_page(number_);
  if (big) {
    out.page = lmdb_number<uint64_t>(rest, key);
  } else {
    out.value = rest.substr(key, out.bytes);
  }
  return out;
}

uint64_t lmdb_run_pages(std::string_view bytes, uint64_t number) {
  if (!is_page(bytes, number, kBigPage)) throw damaged_lmdb_page(number);
  return lmdb_number<uint32_t>(bytes, 12);
}

}  // namespace millrace
