// ColumnPages: the pages of a column in a row group. They are found, read and decompressed when a task needs them, once
// for all tasks, and let go when all their rows were read. Tasks read different rows of a page at the same time.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/parquet/field_column.h"
#include "millrace/input/parquet/footer.h"
#include "millrace/input/parquet/page.h"

namespace millrace {

// Memory of a task.
struct PageReadScratch : PageScratch {
  PageUnpacker unpacker;
  std::vector<char> packed;
};

class ColumnPages {
 public:
  struct Settings {
    std::function<std::shared_ptr<const File>()> open;  // asked for each read
    std::shared_ptr<const FileEntry> entry;
    uint64_t data_end = 0;  // where the pages of the file end
    ColumnChunk chunk = {};
    uint64_t rows = 0;  // of the row group
    std::shared_ptr<const FieldColumn> column;
  };
  explicit ColumnPages(Settings settings) : settings_(std::move(settings)), next_(settings_.chunk.begin) {}

  const FieldColumn& column() const { return *settings_.column; }

  // Where a reader stands.
  struct Spot {
    std::shared_ptr<const Page> page;
    size_t number = 0;  // of the page
    uint64_t end = 0;   // the first row after those that begin in the page
    PageCursor cursor = {};
  };
  // These throw IoError, and DataError, without a place, for what is wrong with a page.
  // Where row `row` of the row group begins.
  Spot at(uint64_t row, PageReadScratch& scratch);
  // The beginning of the page after `spot`; no page if there is none.
  Spot after(const Spot& spot, PageReadScratch& scratch);
  // Says that the last `rows` rows before the spot were read. Others are likely to go on there.
  void leave(Spot&& spot, uint64_t rows);

 private:
  struct Located {
    PageHeader header = {};
    uint64_t begin = 0;  // in the file, after the header
    uint64_t first_row = 0, rows = 0;
    uint64_t rows_read = 0;
    std::shared_ptr<const Page> page = nullptr;  // while it is needed
    std::vector<PageCursor> places = {};         // from which to go on, in the order of their rows
  };

  bool locate(PageReadScratch& scratch) MILLRACE_REQUIRES(mutex_);
  PageHeader read_header(uint64_t offset, PageReadScratch& scratch) const;
  PageBytes read_page(const PageHeader& header, uint64_t offset, PageReadScratch& scratch) const;
  std::shared_ptr<const Page> read(const Located& located, PageReadScratch& scratch) const MILLRACE_REQUIRES(mutex_);
  const std::shared_ptr<const Page>& load(size_t number, PageReadScratch& scratch) MILLRACE_REQUIRES(mutex_);
  void add_place(Located& located, PageCursor cursor) MILLRACE_REQUIRES(mutex_);
  // Says that the page is loaded now; others may be dropped for it.
  void count_loaded(size_t number) MILLRACE_REQUIRES(mutex_);
  void drop(Located& located) MILLRACE_REQUIRES(mutex_);

  const Settings settings_;
  Mutex mutex_;
  std::vector<Located> pages_ MILLRACE_GUARDED_BY(mutex_);  // as far as they were found
  uint64_t next_ MILLRACE_GUARDED_BY(mutex_);               // where in the file the next one begins
  uint64_t entries_ MILLRACE_GUARDED_BY(mutex_) = 0;        // of the pages found
  uint64_t rows_ MILLRACE_GUARDED_BY(mutex_) = 0;           // that begin in them
  size_t loaded_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Dictionary> dictionary_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
