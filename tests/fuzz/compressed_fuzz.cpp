// Any bytes as a compressed file: whichever way its text is read, it is the same, or an error that names the file.
//
// An input is kOptions bytes that choose the sizes, then the file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/core/random.h"
#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/compressed/text_units.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;

constexpr size_t kOptions = 2;
// A bomb is read no further.
constexpr size_t kMostText = 1 << 19;

struct Got {
  std::string text;
  bool whole = false;  // its end was seen
};

// Appends what `read(offset, to, bytes)` gives.
template <class Read>
Got read_all(size_t piece, const Read& read) {
  Got out;
  std::string some(piece, ' ');
  try {
    while (out.text.size() < kMostText) {
      const size_t got = read(out.text.size(), some.data(), some.size());
      out.whole = got == 0;
      if (out.whole) break;
      out.text.append(some, 0, got);
    }
  } catch (const DataError& error) {
    if (error.place().file != "f") std::abort();
  }
  return out;
}

class Reading {
 public:
  explicit Reading(std::string bytes) : bytes_(std::move(bytes)) {
    files_.files["f"] = bytes_;
    entry_ = std::make_shared<FileEntry>(FileEntry{.path = std::string("f"), .size = bytes_.size()});
    open_.emplace(files_);
    compressed_.emplace(files_, *open_, CompressedFiles::Settings{.entries = {entry_}});
    text_ = compressed_->text_of(*entry_);
  }

  Got by_decoder(size_t piece) {
    const auto decoder = make_decoder(text_->kind(), "f");
    decoder->start(text_->compressed(), {});
    const auto raw = compressed_->raw(*entry_);
    return read_all(piece, [&](size_t, char* to, size_t bytes) { return decoder->read(*raw, to, bytes); });
  }
  Got by_units(size_t unit_bytes) {
    TextUnits units(*compressed_, *text_, {.unit_bytes = unit_bytes});
    Got out;
    try {
      for (bool goes_on = true; goes_on && out.text.size() < kMostText;) {
        Unit unit;
        unit.file = entry_;
        unit.begin = out.text.size();
        goes_on = units.next(unit);
        if (unit.end > unit.begin) out.text += text_of(unit);
        out.whole = !goes_on;
        if (out.text.size() != unit.end) break;  // what is wrong comes next
      }
    } catch (const DataError&) {
      out.whole = false;
    }
    return out;
  }
  std::string at(uint64_t offset, size_t bytes) {
    std::string out(bytes, ' ');
    size_t done = 0;
    const InflatedFile file(*text_, compressed_->raw(*entry_));
    try {
      while (done < bytes) {
        const size_t got = file.read(offset + done, out.data() + done, bytes - done);
        if (got == 0) break;
        done += got;
      }
    } catch (const DataError&) {
    }
    out.resize(done);
    return out;
  }

 private:
  std::string text_of(const Unit& unit) {
    const auto& part = static_cast<const TextPart&>(*unit.part);
    if (part.in_order) return part.bytes;
    const InflatedFile file(*text_, compressed_->raw(*entry_), part.range);
    std::string out(part.range.text_bytes(), ' ');
    size_t done = 0;
    try {
      while (done < out.size()) {
        const size_t got = file.read(part.begin + done, out.data() + done, out.size() - done);
        if (got == 0) std::abort();  // a range has the text that it was said to have
        done += got;
      }
    } catch (const DataError&) {
    }
    out.resize(done);
    return out;
  }

  const std::string bytes_;
  MemoryFiles files_;
  std::shared_ptr<const FileEntry> entry_;
  std::optional<OpenFiles> open_;
  std::optional<CompressedFiles> compressed_;
  CompressedText* text_ = nullptr;
};

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

bool begins_alike(const std::string& a, const std::string& b) {
  const size_t both = std::min(a.size(), b.size());
  return a.compare(0, both, b, 0, both) == 0;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size < kOptions + kMagicBytes) return -1;
  const std::string bytes(reinterpret_cast<const char*>(data) + kOptions, size - kOptions);
#if !defined(MILLRACE_HAS_ZLIB) || !defined(MILLRACE_HAS_ZSTD)
  return -1;
#endif
  if (compression_of(bytes) == Compression::none) return -1;
  Reading reading(bytes);
  const Got whole = reading.by_decoder(kMostText), bits = reading.by_decoder(1 + data[0]);
  expect(begins_alike(whole.text, bits.text), "a decoder gives the same text in pieces");
  expect(whole.whole == bits.whole || whole.text.size() >= kMostText || bits.text.size() >= kMostText,
         "a decoder comes to the same end");
  // A later pass knows more.
  for (int pass = 0; pass < 2; ++pass) {
    const Got units = reading.by_units(1 + 16 * size_t{data[1]});
    expect(begins_alike(units.text, whole.text), "units have the same text");
    if (units.whole && whole.whole) expect(units.text.size() == whole.text.size(), "units have all of it");
  }
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t at = philox64(data[0], data[1], i) % (whole.text.size() + 2);
    const std::string got = reading.at(at, 100);
    const std::string right = at < whole.text.size() ? whole.text.substr(at, 100) : std::string();
    expect(begins_alike(got, right), "the text is the same at any place");
    if (whole.whole) expect(got == right, "and all of it is there");
  }
  return 0;
}
