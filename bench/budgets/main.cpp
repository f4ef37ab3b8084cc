// Measures the budgets of docs/performance.md on this machine. See scripts/bench.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/budgets/budget.h"
#include "millrace/core/errors.h"

namespace millrace::bench {
namespace {

const char* verdict(const Budget& budget, const Ratio& ratio) {
  const double distance = budget.at_least ? ratio.median / budget.limit - 1 : 1 - ratio.median / budget.limit;
  if (distance >= 0) return "held";
  return -distance <= ratio.noise ? "missed, within the noise" : "MISSED";
}

int run(const Setting& setting, const std::string& only) {
  Budgets budgets;
  add_decode_budgets(budgets);
  add_input_budgets(budgets);
  add_step_budgets(budgets);
  std::printf("%-28s %10s %10s %8s  %s\n", "budget", "limit", "measured", "noise", "");
  for (const Budget& budget : budgets) {
    if (budget.name.find(only) == std::string::npos) continue;
    try {
      const Ratio ratio = budget.measure(setting);
      std::printf("%-28s %3s %6.3g %10.3g %7.1f%%  %s: %s\n", budget.name.c_str(),
                  budget.at_least ? ">=" : "<=", budget.limit, ratio.median, 100 * ratio.noise, verdict(budget, ratio),
                  budget.what.c_str());
    } catch (const Skip& skip) {
      std::printf("%-28s %3s %6.3g %10s %8s  skipped: %s\n", budget.name.c_str(),
                  budget.at_least ? ">=" : "<=", budget.limit, "-", "-", skip.why.c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace millrace::bench

int main(int count, char** words) {
  millrace::bench::Setting setting;
  setting.folder = "build/bench-data";
  return millrace::bench::run(setting, count > 1 ? words[1] : "");
}
