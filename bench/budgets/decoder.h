// decode_csv as it runs in a graph, on text in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bench/budgets/texts.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/csv_dialect.h"

namespace millrace::bench {

inline constexpr size_t kChunk = 262144;

class PartOfText final : public ChunkText {
 public:
  PartOfText(std::string_view text, size_t bytes) {
    data_ = text.data();
    size_ = text.size();
    limit_ = bytes;
    at_end_ = true;
  }
  void extend() override {}
};

class Decoder {
 public:
  Decoder() : file_(std::make_shared<FileEntry>()) {
    const auto dialect = std::make_shared<CsvDialect>();
    dialect->columns = kFeatures + 1;
    Port port;
    port.type = PortType::text;
    port.format = dialect;
    Spec fields = Spec::map()
                      .set("x", Spec::map().set("columns", cat("0-", kFeatures - 1)))
                      .set("y", Spec::map().set("columns", kFeatures));
    const Spec options = Spec::map().set("fields", std::move(fields));
    op_ = builtin_ops().make({"decode_csv", options}, options);
    BindArgs args;
    args.inputs = {&port, 1};
    args.name = "decode_csv";
    op_->bind(args);
    chunk_.set_work(&work_);
  }

  // Decodes the records that begin in the first `bytes` bytes of `text`; returns where the last ends.
  size_t run(std::string_view text, size_t bytes) {
    Unit unit;
    unit.file = file_;
    chunk_.reset(unit);
    chunk_.text = std::make_unique<PartOfText>(text, bytes);
    dynamic_cast<const Transform&>(*op_).apply(chunk_);
    return chunk_.end_record;
  }
  size_t run(std::string_view text) { return run(text, text.size()); }

 private:
  std::shared_ptr<const FileEntry> file_;
  std::unique_ptr<Op> op_;
  Workspace work_;
  Chunk chunk_;
};

// A chunk of text as a reader hands it on: it has the size that is read at once, so it is still in a cache.
inline std::string chunk_of_text(Digits digits) {
  const auto row_bytes = random_rows(1, digits).size();
  return random_rows(static_cast<int>(kChunk / row_bytes), digits);
}

}  // namespace millrace::bench
