// Measures the budgets on this machine. See scripts/bench.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/budgets/budget.h"
#include "millrace/core/text.h"

namespace millrace::bench {
namespace {

struct Options {
  Setting setting;
  std::string only;
  std::string json;
};

constexpr const char* kHelp =
    "usage: budgets --data FOLDER [--only TEXT] [--rounds N] [--json FILE]\n"
    "Measures every budget whose name holds TEXT and prints a table; the exit code is 1 when one is missed.\n";

// The result of a budget; `why` says why it was left out.
struct Result {
  const Budget* budget = nullptr;
  Ratio ratio;
  std::string why;

  bool held() const { return (budget->at_least ? ratio.median / budget->limit : budget->limit / ratio.median) >= 1; }
  bool near() const {
    const double missed = budget->at_least ? 1 - ratio.median / budget->limit : ratio.median / budget->limit - 1;
    return missed <= ratio.noise;
  }
  std::string_view verdict() const {
    if (!why.empty()) return "left out";
    return held() ? "held" : near() ? "missed within the noise" : "missed";
  }
};

std::string number(double value, const char* format) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

void print(const Result& result) {
  const Budget& budget = *result.budget;
  const std::string limit = cat(budget.at_least ? ">= " : "<= ", number(budget.limit, "%.3g"));
  const bool measured = result.why.empty();
  std::printf("| %-23s | %-72s | %7s | %8s | %5s | %s |\n", budget.name.c_str(), budget.what.c_str(), limit.c_str(),
              measured ? number(result.ratio.median, "%.2f").c_str() : "",
              measured ? (number(100 * result.ratio.noise, "%.1f") + "%").c_str() : "",
              measured ? std::string(result.verdict()).c_str() : cat("left out: ", result.why).c_str());
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Result>& results) {
  std::ofstream out(path);
  out << "[\n";
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    out << "  {\"budget\":\"" << result.budget->name << "\",\"what\":\"" << result.budget->what
        << "\",\"limit\":" << result.budget->limit << ",\"at_least\":" << (result.budget->at_least ? "true" : "false");
    if (result.why.empty()) out << ",\"measured\":" << result.ratio.median << ",\"noise\":" << result.ratio.noise;
    out << ",\"verdict\":\"" << result.verdict() << "\"}" << (i + 1 < results.size() ? "," : "") << '\n';
  }
  out << "]\n";
}

int run(const Options& options) {
  Budgets budgets;
  add_decode_budgets(budgets);
  add_input_budgets(budgets);
  add_array_budgets(budgets);
  add_compressed_budgets(budgets);
  add_scaling_budgets(budgets);
  add_step_budgets(budgets);
  add_worker_budgets(budgets);
  add_picture_budgets(budgets);
  add_predict_budgets(budgets);
  add_program_budgets(budgets);
  add_checkpoint_budgets(budgets);
  std::printf("| %-23s | %-72s | %7s | %8s | %5s | %s |\n|---|---|---|---|---|---|\n", "budget", "what", "limit",
              "measured", "noise", "verdict");
  std::vector<Result> results;
  bool missed = false;
  for (const Budget& budget : budgets) {
    if (budget.name.find(options.only) == std::string::npos) continue;
    Result result{&budget, {}, {}};
    try {
      result.ratio = budget.measure(options.setting);
      missed = missed || (!result.held() && !result.near());
    } catch (const Skip& skip) {
      result.why = skip.why;
    }
    print(result);
    results.push_back(result);
  }
  if (!options.json.empty()) write_json(options.json, results);
  return missed ? 1 : 0;
}

bool read(int count, char** words, Options& out) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view word = words[i];
    if (i + 1 == count) return false;
    const std::string value = words[i + 1];
    if (word == "--data") {
      out.setting.folder = value;
    } else if (word == "--only") {
      out.only = value;
    } else if (word == "--json") {
      out.json = value;
    } else if (word == "--rounds") {
      out.setting.rounds = std::atoi(value.c_str());
    } else {
      return false;
    }
  }
  return !out.setting.folder.empty() && out.setting.rounds > 0;
}

}  // namespace
}  // namespace millrace::bench

int main(int count, char** words) {
  millrace::bench::Options options;
  options.setting.trainer = (std::filesystem::canonical("/proc/self/exe").parent_path() / "trainer").string();
  if (!millrace::bench::read(count, words, options)) {
    std::fputs(millrace::bench::kHelp, stderr);
    return 2;
  }
  try {
    return millrace::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "budgets: %s\n", error.what());
    return 70;
  }
}
