// CSV text in memory to rows of floats, on one core: decode_csv as it runs in a graph, quoting on and every check on,
// against the two functions that a program by hand would call for each field.
#include <fast_float/fast_float.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/texts.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/kernels/kernels.h"

namespace millrace::bench {

namespace {

constexpr size_t kChunk = 262144;
constexpr int kPasses = 16;

// The part of a text from `offset` on, as a reader hands it on.
class PartOfText final : public ChunkText {
 public:
  PartOfText(const std::string& text, size_t offset) {
    data_ = text.data() + offset;
    size_ = text.size() - offset;
    offset_ = offset;
    limit_ = offset + kChunk;
    at_end_ = true;
  }
  void extend() override {}
};

class Decoder {
 public:
  explicit Decoder(const std::string& text) : text_(text), file_(std::make_shared<FileEntry>()) {
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

  void run() {
    const auto& decode = dynamic_cast<const Transform&>(*op_);
    for (size_t offset = 0; offset < text_.size();) {
      Unit unit;
      unit.file = file_;
      chunk_.reset(unit);
      chunk_.text = std::make_unique<PartOfText>(text_, offset);
      decode.apply(chunk_);
      offset = chunk_.end_record;
    }
  }

 private:
  const std::string& text_;
  std::shared_ptr<const FileEntry> file_;
  std::unique_ptr<Op> op_;
  Workspace work_;
  Chunk chunk_;
};

// By hand: a function that reads a number and returns where it ends, one field after another.
template <class Read>
void by_hand(const std::string& text, std::vector<float>& rows, const Read& read) {
  const char* at = text.data();
  const char* end = at + text.size();
  size_t value = 0;
  while (at != end) {
    at = read(at, end, rows[value]);
    if (*at != ',' && *at != '\n') throw Skip{"a field that is no number"};
    ++at;
    // The rows of a chunk, over and over, as the decoder has them.
    if (++value == rows.size()) value = 0;
  }
}

// A chunk of text, as a reader hands it on: of the size that is read at once, and so still in a cache.
std::string chunk_of_text(Digits digits) {
  const auto row_bytes = random_rows(1, digits).size();
  return random_rows(static_cast<int>(kChunk / row_bytes), digits);
}

// Its rows, by hand, over and over.
template <class Read>
double time_by_hand(const std::string& text, const Read& read) {
  std::vector<float> rows(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) * (kFeatures + 1));
  return timed(thread_seconds, [&] {
    for (int pass = 0; pass < kPasses; ++pass) by_hand(text, rows, read);
  });
}

double time_decoder(Decoder& decoder) {
  return timed(thread_seconds, [&] {
    for (int pass = 0; pass < kPasses; ++pass) decoder.run();
  });
}

Ratio against_fast_float(const Setting& setting, ProcessorLevel level, Digits digits) {
  const CsvKernels* kernels = csv_kernels(level);
  if (kernels == nullptr) throw Skip{cat("this processor has no ", to_string(level))};
  const CsvKernels& best = csv_kernels();
  use_csv_kernels(*kernels);
  const std::string text = chunk_of_text(digits);
  Decoder decoder(text);
  const auto read = [](const char* at, const char* end, float& out) {
    return fast_float::from_chars(at, end, out).ptr;
  };
  const Ratio ratio = compare(
      setting.rounds, [&] { return time_decoder(decoder); }, [&] { return time_by_hand(text, read); });
  use_csv_kernels(best);
  return ratio;
}

Ratio against_strtof(const Setting& setting) {
  const std::string text = chunk_of_text(Digits::f32);
  Decoder decoder(text);
  const auto read = [](const char* at, const char*, float& out) {
    char* stop;
    out = std::strtof(at, &stop);
    return static_cast<const char*>(stop);
  };
  return compare(
      setting.rounds, [&] { return time_decoder(decoder); }, [&] { return time_by_hand(text, read); });
}

Budget of_level(ProcessorLevel level, Digits digits, double limit) {
  const std::string kind = digits == Digits::f32 ? "float32" : "float64";
  return {cat("decode/", kind, "/", to_string(level)),
          cat("decode_csv over fast_float, ", kind, " text, ", to_string(level)), limit, true,
          [=](const Setting& setting) { return against_fast_float(setting, level, digits); }};
}

}  // namespace

void add_decode_budgets(Budgets& out) {
  out.push_back(of_level(ProcessorLevel::avx512, Digits::f32, 8));
  out.push_back(of_level(ProcessorLevel::avx512, Digits::f64, 2.5));
  out.push_back(of_level(ProcessorLevel::avx2, Digits::f32, 3));
  out.push_back(of_level(ProcessorLevel::scalar, Digits::f32, 1.3));
  out.push_back({"decode/float32/strtof", "decode_csv over strtof, float32 text", 30, true, against_strtof});
}

}  // namespace millrace::bench
