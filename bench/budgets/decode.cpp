// CSV text in memory to rows of floats, on one core: decode_csv as it runs in a graph, quoting on and every check on,
// against the two functions that a program by hand would call for each field.
#include <fast_float/fast_float.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/decoder.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/csv/kernels/kernels.h"

namespace millrace::bench {

namespace {

constexpr int kPasses = 32;

// Decodes by hand, one field after another: `read` reads a number and returns where it ends.
template <class Read>
void by_hand(const std::string& text, std::vector<float>& rows, const Read& read) {
  const char* at = text.data();
  const char* end = at + text.size();
  size_t value = 0;
  while (at != end) {
    at = read(at, end, rows[value]);
    if (*at != ',' && *at != '\n') throw Skip{"a field that is no number"};
    ++at;
    // Writes over the rows of one chunk again and again, as the decoder does.
    if (++value == rows.size()) value = 0;
  }
}

// Seconds to decode the text's rows by hand, many times.
template <class Read>
double time_by_hand(const std::string& text, const Read& read) {
  std::vector<float> rows(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) * (kFeatures + 1));
  return timed(thread_seconds, [&] {
    for (int pass = 0; pass < kPasses; ++pass) by_hand(text, rows, read);
  });
}

double time_decoder(Decoder& decoder, const std::string& text, int passes = kPasses) {
  return timed(thread_seconds, [&] {
    for (int pass = 0; pass < passes; ++pass) decoder.run(text);
  });
}

const CsvKernels& kernels_of(ProcessorLevel level) {
  const CsvKernels* kernels = csv_kernels(level);
  if (kernels == nullptr) throw Skip{cat("this processor has no ", to_string(level))};
  return *kernels;
}

Ratio against_fast_float(const Setting& setting, ProcessorLevel level, Digits digits) {
  const CsvKernels& kernels = kernels_of(level);
  const CsvKernels& best = csv_kernels();
  use_csv_kernels(kernels);
  const std::string text = chunk_of_text(digits);
  Decoder decoder;
  const auto read = [](const char* at, const char* end, float& out) {
    return fast_float::from_chars(at, end, out).ptr;
  };
  const Ratio ratio = compare(
      setting.rounds, [&] { return time_decoder(decoder, text); }, [&] { return time_by_hand(text, read); });
  use_csv_kernels(best);
  return ratio;
}

Ratio avx512_over_avx2(const Setting& setting) {
  const CsvKernels &fast = kernels_of(ProcessorLevel::avx512), &slow = kernels_of(ProcessorLevel::avx2);
  const CsvKernels& best = csv_kernels();
  const std::string text = chunk_of_text(Digits::f32);
  Decoder decoder;
  const auto time_with = [&](const CsvKernels& kernels) {
    use_csv_kernels(kernels);
    return time_decoder(decoder, text);
  };
  const Ratio ratio = compare(
      setting.rounds, [&] { return time_with(fast); }, [&] { return time_with(slow); });
  use_csv_kernels(best);
  return ratio;
}

Ratio against_strtof(const Setting& setting) {
  const std::string text = chunk_of_text(Digits::f32);
  Decoder decoder;
  const auto read = [](const char* at, const char*, float& out) {
    char* stop;
    out = std::strtof(at, &stop);
    return static_cast<const char*>(stop);
  };
  return compare(
      setting.rounds, [&] { return time_decoder(decoder, text); }, [&] { return time_by_hand(text, read); });
}

// Each thread does the work of the single thread, for so long that the start of threads does not matter.
Ratio on_threads(const Setting& setting, int threads) {
  if (Executor::available_threads() < threads) throw Skip{"not so many processors"};
  constexpr int kManyPasses = 20 * kPasses;
  const std::string text = chunk_of_text(Digits::f32);
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (int i = 0; i < threads; ++i) decoders.push_back(std::make_unique<Decoder>());
  const auto decode = [&](size_t which) { time_decoder(*decoders[which], text, kManyPasses); };
  const Ratio time = compare(
      setting.rounds, [&] { return timed(wall_seconds, [&] { decode(0); }); },
      [&] {
        return timed(wall_seconds, [&] {
          std::vector<std::thread> others;
          for (size_t i = 1; i < decoders.size(); ++i) others.emplace_back(decode, i);
          decode(0);
          for (std::thread& other : others) other.join();
        });
      });
  return {threads / time.median, time.noise};
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
  out.push_back({"decode/float32/levels", "decode_csv, float32 text, avx512 over avx2", 2, true, avx512_over_avx2});
  out.push_back({"decode/float32/strtof", "decode_csv over strtof, float32 text", 30, true, against_strtof});
  out.push_back({"decode/threads/2", "decode_csv on two threads over one", 1.8, true,
                 [](const Setting& setting) { return on_threads(setting, 2); }});
}

}  // namespace millrace::bench
