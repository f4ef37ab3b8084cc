// Files of LMDB as liblmdb writes them, made by plain rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/arrays/array_bytes.h"

namespace millrace::testing_support {

struct LmdbContent {
  std::string name = {};                                          // empty: the main database
  std::vector<std::pair<std::string, std::string>> records = {};  // sorted by key
  uint16_t flags = 0;
};

class LmdbBytes {
 public:
  explicit LmdbBytes(size_t page_bytes = 4096) : size_(page_bytes), pages_(2) {}

  // With `first` the main database is in the first meta page; the other is of an older transaction.
  std::string file(const std::vector<LmdbContent>& contents, uint64_t transaction = 7, bool first = false) {
    std::vector<Node> main;
    uint16_t flags = 0;
    for (const LmdbContent& content : contents) {
      if (content.name.empty()) {
        for (const auto& [key, value] : content.records) main.push_back(leaf_node(key, value));
        flags = content.flags;
      } else {
        std::vector<Node> nodes;
        for (const auto& [key, value] : content.records) nodes.push_back(leaf_node(key, value));
        main.push_back({content.name, node(content.name, kTree, 48, tree(nodes, content.flags))});
      }
    }
    std::ranges::sort(main, {}, &Node::key);
    const std::string trees = tree({}, 0, size_) + tree(main, flags);
    const std::string old = tree({}, 0, size_) + tree({}, flags);
    pages_[0] = meta(0, first ? trees : old, first ? transaction : transaction - 1);
    pages_[1] = meta(1, first ? old : trees, first ? transaction - 1 : transaction);
    std::string out;
    for (const std::string& page : pages_) out += page;
    return out;
  }

 private:
  struct Node {
    std::string key, bytes;
  };
  static constexpr uint64_t kBig = 1, kTree = 2, kBranch = 1, kLeaf = 2, kRun = 4, kMeta = 8;

  static std::string node(const std::string& key, uint64_t flags, uint64_t low, const std::string& data) {
    std::string out = cat(number_bytes(low, 4), number_bytes(flags, 2), number_bytes(key.size(), 2), key, data);
    return out.size() % 2 == 0 ? out : out + '\0';
  }

  Node leaf_node(const std::string& key, const std::string& value) {
    const size_t most = ((size_ - 16) / 2 & ~size_t{1}) - 2;
    if (8 + key.size() + value.size() <= most) return {key, node(key, 0, value.size(), value)};
    const uint64_t page = pages_.size(), count = (16 + value.size() - 1) / size_ + 1;
    std::string run = cat(header(page, kRun, number_bytes(count, 4)), value);
    run.resize(count * size_);
    for (uint64_t i = 0; i < count; ++i) pages_.push_back(run.substr(i * size_, size_));
    return {key, node(key, kBig, value.size(), number_bytes(page, 8))};
  }

  static std::string header(uint64_t page, uint64_t flags, const std::string& rest) {
    return cat(number_bytes(page, 8), std::string(2, '\0'), number_bytes(flags, 2), rest);
  }

  // The number of a new page.
  uint64_t add(const std::vector<Node>& nodes, uint64_t flags) {
    std::string data, pointers;
    for (const Node& one : nodes) {
      data = one.bytes + data;
      pointers += number_bytes(size_ - data.size(), 2);
    }
    std::string page =
        cat(header(pages_.size(), flags, number_bytes(16 + pointers.size(), 2) + number_bytes(size_ - data.size(), 2)),
            pointers);
    page.resize(size_ - data.size());
    pages_.push_back(page + data);
    return pages_.size() - 1;
  }

  // Pages of these nodes, as nodes of the branch above.
  std::vector<Node> pages_of(const std::vector<Node>& nodes, uint64_t flags) {
    std::vector<Node> above, page;
    size_t bytes = 16;
    const auto end = [&] {
      const std::string key = page.front().key;
      const uint64_t number = add(page, flags);
      // The first key of a branch is not there.
      above.push_back({key, node(above.empty() ? "" : key, number >> 32, number, {})});
      page.clear();
      bytes = 16;
    };
    for (const Node& one : nodes) {
      if (bytes + one.bytes.size() + 2 > size_) end();
      page.push_back(one);
      bytes += one.bytes.size() + 2;
    }
    end();
    return above;
  }

  // What the parent says of it.
  std::string tree(std::vector<Node> nodes, uint64_t flags, uint64_t pad = 0) {
    const size_t records = nodes.size();
    uint64_t root = UINT64_MAX, depth = 0;
    for (uint64_t kind = kLeaf; !nodes.empty(); kind = kBranch) {
      nodes = pages_of(nodes, kind);
      ++depth;
      root = pages_.size() - 1;
      if (nodes.size() == 1) break;
    }
    return cat(number_bytes(pad, 4), number_bytes(flags, 2), number_bytes(depth, 2), std::string(24, '\0'),
               number_bytes(records, 8), number_bytes(root, 8));
  }

  std::string meta(uint64_t page, const std::string& trees, uint64_t transaction) const {
    std::string out = cat(header(page, kMeta, std::string(4, '\0')), number_bytes(0xBEEFC0DE, 4), number_bytes(1, 4),
                          number_bytes(0, 8), number_bytes(1 << 20, 8), trees, number_bytes(pages_.size() - 1, 8),
                          number_bytes(transaction, 8));
    out.resize(size_);
    return out;
  }

  const size_t size_;
  std::vector<std::string> pages_;
};

inline std::string lmdb_file(const std::vector<LmdbContent>& contents, size_t page_bytes = 4096) {
  return LmdbBytes(page_bytes).file(contents);
}

}  // namespace millrace::testing_support
