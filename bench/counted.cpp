// Fixed work whose instructions scripts/count-instructions counts: other work of the machine does not change them.
//
//   counted decode-scalar|decode-avx2|step
#include <cstdio>
#include <string>

#include "bench/budgets/decoder.h"
#include "bench/budgets/network.h"
#include "millrace/input/csv/kernels/kernels.h"

namespace {

using namespace millrace;

// Only what happens in here is counted.
extern "C" [[gnu::noinline]] void counted_work(FunctionRef<void()> work) { work(); }

int decode(ProcessorLevel level) {
  const CsvKernels* kernels = csv_kernels(level);
  if (kernels == nullptr) return 3;
  use_csv_kernels(*kernels);
  const std::string text = bench::chunk_of_text(bench::Digits::f32);
  bench::Decoder decoder;
  decoder.run(text);
  counted_work([&] { decoder.run(text); });
  return 0;
}

int step() {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  bench::Network network(context, 23);
  network.step();
  counted_work([&] { network.step(); });
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count == 2 ? words[1] : "";
  if (what == "decode-scalar") return decode(ProcessorLevel::scalar);
  if (what == "decode-avx2") return decode(ProcessorLevel::avx2);
  if (what == "step") return step();
  std::fprintf(stderr, "usage: counted decode-scalar|decode-avx2|step\n");
  return 2;
}
