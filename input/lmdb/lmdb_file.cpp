#include "millrace/input/lmdb/lmdb_file.h"

#include <algorithm>
#include <array>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

namespace {

// The two meta pages are written in turns: the one with the greater number of its transaction holds.
LmdbMeta read_meta(const File& file) {
  std::array<char, LmdbMeta::kBytes> bytes;
  const auto at = [&](uint64_t offset) {
    return LmdbMeta::read({bytes.data(), file.read(offset, bytes.data(), bytes.size())});
  };
  const LmdbMeta first = at(0), second = at(first.page_bytes);
  if (first.page_bytes != second.page_bytes) throw damaged_lmdb_page(1);
  return first.transaction < second.transaction ? second : first;
}

DataError beyond_end(uint64_t page, uint64_t size) {
  return DataError(cat("page ", page, " of the database lies beyond the end of the file, at byte ", size), {},
                   "was the file cut short?");
}

std::string listed_names(std::vector<std::string> names, std::string_view joint) {
  constexpr size_t kShown = 20;
  if (names.size() > kShown) {
    names[kShown] = cat(names.size() - kShown, " more");
    names.resize(kShown + 1);
  }
  return join(names, joint);
}

}  // namespace

LmdbFile::LmdbFile(const File& file, const FileEntry& entry) : file_(file), entry_(entry), meta_(read_meta(file)) {}

void LmdbFile::read(uint64_t page, std::string& memory, size_t bytes) const {
  const uint64_t begin = page * meta_.page_bytes;
  if (begin + bytes > entry_.size) throw beyond_end(page, entry_.size);
  memory.resize(bytes);
  if (const size_t got = file_.read(begin, memory.data(), bytes); got < bytes) throw_shrunk(entry_, begin + got);
}

LmdbPage LmdbFile::page(uint64_t number, std::string& memory) const {
  if (number >= meta_.pages) throw damaged_lmdb_page(number);
  read(number, memory, static_cast<size_t>(meta_.page_bytes));
  return {memory, number};
}

void LmdbFile::check_big(const LmdbNode& node) const {
  const uint64_t pages = (kLmdbPageHeader + node.bytes - 1) / meta_.page_bytes + 1;
  if (node.page >= meta_.pages || pages > meta_.pages - node.page) throw damaged_lmdb_page(node.page);
  const uint64_t end = node.page * meta_.page_bytes + kLmdbPageHeader + node.bytes;
  if (end > entry_.size) throw beyond_end(node.page, entry_.size);
}

std::string_view LmdbFile::big_value(const LmdbNode& node, uint64_t most, std::string& memory) const {
  check_big(node);
  if (node.bytes > most) throw damaged_lmdb_page(node.page);
  read(node.page, memory, kLmdbPageHeader + static_cast<size_t>(node.bytes));
  if (lmdb_run_pages(memory, node.page) * meta_.page_bytes < memory.size()) throw damaged_lmdb_page(node.page);
  return std::string_view(memory).substr(kLmdbPageHeader);
}

void LmdbFile::for_each_leaf(const LmdbTree& tree, const std::function<void(const LmdbPage&)>& visit) const {
  constexpr size_t kMostDepth = 32;  // as LMDB has it
  struct Level {
    std::string memory;
    uint64_t page = 0;
    size_t next = 0;  // the entry to go into
  };
  if (tree.root == LmdbTree::kNone) return;
  std::vector<Level> levels(kMostDepth);
  levels[0].page = tree.root;
  uint64_t visited = 0;
  for (size_t depth = 1; depth > 0;) {
    Level& level = levels[depth - 1];
    // A page that leads back to one above it would be visited again and again.
    if (level.next == 0 && ++visited > meta_.pages) throw damaged_lmdb_page(level.page);
    const LmdbPage at = level.next == 0 ? page(level.page, level.memory) : LmdbPage(level.memory, level.page);
    if (at.is_leaf()) visit(at);
    if (at.is_leaf() || level.next == at.nodes()) {
      --depth;
      continue;
    }
    if (depth == kMostDepth) throw damaged_lmdb_page(level.page);
    levels[depth].page = at.node(level.next++).page;
    levels[depth++].next = 0;
  }
}

std::vector<std::pair<std::string, LmdbTree>> LmdbFile::databases() const {
  std::vector<std::pair<std::string, LmdbTree>> out;
  for_each_leaf(meta_.main, [&](const LmdbPage& page) {
    for (size_t i = 0; i < page.nodes(); ++i) {
      const LmdbNode node = page.node(i);
      if ((node.flags & LmdbNode::kTree) == 0) continue;
      if (node.value.size() != LmdbTree::kBytes) throw damaged_lmdb_page(page.number());
      out.emplace_back(node.key, LmdbTree::read(node.value));
    }
  });
  return out;
}

LmdbTree LmdbFile::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [known, tree] : databases()) {
    if (known == name) return tree;
    names.push_back(known);
  }
  const std::string near = nearest(name, names);
  throw DataError(cat("there is no database ", quote(name)), {},
                  !near.empty()   ? cat("did you mean ", near, "?")
                  : names.empty() ? "there is only the main one: leave db out"
                                  : cat("it has ", listed_names(names, " and ")));
}

void LmdbFile::check_unchanged() const {
  if (read_meta(file_).transaction == meta_.transaction) return;
  throw IoError("another program has changed the database since the run began", {entry_.path},
                "let it end before, or read a copy that mdb_copy makes");
}

LmdbIndex::LmdbIndex(const LmdbFile& file, const LmdbTree& tree) : keys_hash_(fnv1a64("")) {
  if ((tree.flags & LmdbTree::kDuplicates) != 0) {
    throw DataError("a key has several values (MDB_DUPSORT), expected one for each key");
  }
  file.for_each_leaf(tree, [&](const LmdbPage& page) {
    if (page.nodes() == 0) return;
    if (leaves_.size() % kStride == 0) begins_.push_back(rows_);
    leaves_.push_back(page.number() << 16 | page.nodes());
    rows_ += page.nodes();
    for (size_t i = 0; i < page.nodes(); ++i) {
      const LmdbNode node = page.node(i);
      if ((node.flags & LmdbNode::kTree) != 0) {
        std::vector<std::string> names;
        for (const auto& [name, of_name] : file.databases()) names.push_back(name);
        throw DataError("the main database holds others", {},
                        cat("name one of them: db: ", listed_names(names, " or ")));
      }
      if ((node.flags & LmdbNode::kDuplicates) != 0) throw damaged_lmdb_page(page.number());
      if ((node.flags & LmdbNode::kBig) != 0) file.check_big(node);
      most_bytes_ = std::max(most_bytes_, node.bytes);
      const char length[] = {static_cast<char>(node.key.size() & 255), static_cast<char>(node.key.size() >> 8)};
      keys_hash_ = fnv1a64(node.key, fnv1a64({length, 2}, keys_hash_));
    }
  });
  if (rows_ == tree.rows) return;
  throw DataError(cat("the database says that it has ", tree.rows, " records, but ", rows_, " are there"));
}

LmdbIndex::Record LmdbIndex::read(const LmdbFile& file, uint64_t row, Memory& memory, bool with_value) const {
  const size_t block = static_cast<size_t>(std::ranges::upper_bound(begins_, row) - begins_.begin()) - 1;
  size_t leaf = block * kStride;
  uint64_t node_of_row = row - begins_[block];
  for (; node_of_row >= (leaves_[leaf] & 0xffff); ++leaf) node_of_row -= leaves_[leaf] & 0xffff;
  const uint64_t number = leaves_[leaf] >> 16;
  if (memory.page != number) {
    memory.page = 0;
    static_cast<void>(file.page(number, memory.leaf));
    memory.page = number;
  }
  const LmdbPage page(memory.leaf, number);
  if (node_of_row >= page.nodes()) throw damaged_lmdb_page(number);
  const LmdbNode node = page.node(static_cast<size_t>(node_of_row));
  const bool big = (node.flags & LmdbNode::kBig) != 0;
  return {.key = node.key, .value = big && with_value ? file.big_value(node, most_bytes_, memory.value) : node.value};
}

std::string lmdb_key_text(std::string_view key) {
  const bool text = find_invalid_utf8(key) == key.npos && escape_controls(key) == key && !key.empty();
  if (text) return std::string(key);
  std::string out = "0x";
  for (const char byte : key) append_hex(out, {}, static_cast<unsigned char>(byte));
  return out;
}

}  // namespace millrace
