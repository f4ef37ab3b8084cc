// tfrecord_reader: files of TFRecords -> their records. A unit is a range of `chunk_bytes` bytes, as of csv_reader.
#include <memory>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/file_text.h"
#include "millrace/input/tfrecord/record_frames.h"

namespace millrace {
namespace {

struct TfRecordReaderOptions {
  int64_t max_record_bytes = int64_t{16} << 20;
  int64_t chunk_bytes = 262144;

  void declare(OptionReader& o) {
    o.optional("max_record_bytes", max_record_bytes, {.min = 1, .max = TfRecordFormat::kMost},
               "a longer record is an error; a task may hold two of them");
    o.decides("max_record_bytes", Decides::nothing);
    declare_chunk_bytes(o, chunk_bytes);
  }
};

// Whether the bytes may be those of TensorFlow's option ZLIB.
bool is_zlib(std::string_view start) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(start[i]); };
  return start.size() >= 2 && byte(0) == 0x78 && (byte(0) << 8 | byte(1)) % 31 == 0;
}

class TfRecordReader final : public FileSource {
 public:
  using Options = TfRecordReaderOptions;
  static constexpr std::string_view kLeads = "names to text";
  static constexpr std::string_view kDoc = "reads the records of TFRecord files, also compressed ones";
  static constexpr std::string_view kExample = "max_record_bytes: 67108864";

  explicit TfRecordReader(const Options& options)
      : FileSource({.unit_bytes = static_cast<uint64_t>(options.chunk_bytes)}),
        format_(std::make_shared<const TfRecordFormat>(static_cast<uint64_t>(options.max_record_bytes))) {}

  Port open(const BindArgs&) override {
    read_compressed();
    for (const auto& file : files()) {
      if (file->stream || file->size == 0) continue;
      FileText text;
      text.start(open_file(*file).file, start_of(file), is_compressed(*file));
      check_start(text, *file);
      break;
    }
    return {.type = PortType::text, .format = format_};
  }

  void check_files() const override { check_starts(); }

  void read(Chunk& chunk) const override {
    Unit unit = chunk.unit;
    std::shared_ptr<const File> file = open_text(chunk, [&] { return open_unit(unit); });
    if (!file) return;
    auto& text = static_cast<FileText&>(*chunk.text);
    const bool inflated = is_compressed(*unit.file), exact = std::exchange(unit.exact, true);
    if (!inflated) text.reserve(range_bytes());
    text.start(std::move(file), unit, inflated);
    if (unit.begin == 0) check_start(text, *unit.file);
    if (!exact) skip_to_record(text, *format_);
    chunk.first_record = chunk.end_record = text.offset();
  }

  ChunkBound chunk_bound() const override {
    constexpr uint64_t kFrame = kFrameHead + kFrameTail;
    return bound_of_text({.longest = format_->max_record_bytes + kFrame, .shortest = kFrame, .shortest_bad = kFrame});
  }

  uint64_t memory_bound() const override {
    // A pipe holds what a task still waits for.
    return FileSource::memory_bound() + (has_streams() ? 2 * format_->max_record_bytes : 0);
  }

 private:
  // Throws DataError for bytes at the start of a file that no record begins with.
  static void check_start(FileText& text, const FileEntry& file) {
    while (text.bytes().size() < kFrameHead && !text.at_end()) text.extend();
    if (text.bytes().empty() || record_length(text.bytes())) return;
    throw DataError("this is not a TFRecord file: it does not begin with the length of a record and its checksum",
                    {file.path},
                    is_zlib(text.bytes()) ? "it may be compressed by ZLIB, which is not read: write it with GZIP"
                                          : format_hint(text.bytes().substr(0, 512)));
  }

  const std::shared_ptr<const TfRecordFormat> format_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(tfrecord_reader, TfRecordReader);
