#include "millrace/cli/verify/verify_text.h"

#include <utility>

#include "millrace/cli/text/json_text.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

std::string line(std::string_view name, int64_t count) {
  constexpr size_t kWidth = 32;
  return cat("  ", name, std::string(kWidth - name.size(), ' '), count, '\n');
}

std::string kills_text(const KillCounts& kills) {
  std::string out = line("while it started", kills.starting) + line("before the first checkpoint", kills.early) +
                    line("in steps", kills.in_steps) + line("in validations", kills.in_validations);
  for (const auto& [call, count] : kills.calls) out += line(cat("writing, before ", call, "()"), count);
  return out;
}

std::string resumes_text(const VerifyReport& report) {
  std::vector<std::string> threads, deliveries;
  for (const int count : report.threads) threads.push_back(cat(count));
  for (const auto& [delivery, times] : report.deliveries) deliveries.push_back(cat(delivery, ' ', times));
  return cat(count_of(report.resumes, "resume"), " from a checkpoint; threads: ", join(threads),
             "; deliveries: ", join(deliveries), '\n');
}

}  // namespace

std::string verify_text(const VerifyReport& report) {
  const int64_t kills = report.kills.all();
  std::string out = report.equal()
                        ? cat("equal: ", count_of(report.steps, "step"), " and ", count_of(report.rows, "row"),
                              ", with ", count_of(kills, "kill"), " or with none\n")
                        : cat("not equal: ", escape_controls(report.difference), '\n');
  out += cat(count_of(kills, "kill"), " in ", count_of(report.trainings, "training"), ":\n", kills_text(report.kills),
             resumes_text(report));
  out += cat("weights: ", report.weights, "  (never interrupted)\n");
  if (!report.resumed_weights.empty()) out += cat("weights: ", report.resumed_weights, "  (killed and resumed)\n");
  if (!report.kept.empty()) out += cat("both trainings are in ", escape_controls(report.kept), '\n');
  return out;
}

std::string verify_event(const VerifyReport& report) {
  const KillCounts& kills = report.kills;
  JsonText json = JsonText::event("verify_resume");
  json.key("kills").value(kills.all()).key("equal").value(report.equal()).key("weights").value(report.weights);
  json.key("resumed_weights").text_or_null(report.resumed_weights);
  json.key("difference").text_or_null(report.difference).key("parts_at").value(report.parts_at);
  json.key("kept").text_or_null(report.kept).key("steps").value(report.steps).key("rows").value(report.rows);
  json.key("where").open('{').key("starting").value(kills.starting).key("before_checkpoint").value(kills.early);
  json.key("step").value(kills.in_steps).key("validation").value(kills.in_validations);
  json.key("writing").open('{');
  for (const auto& [call, count] : kills.calls) json.key(call).value(count);
  json.close('}').close('}').key("trainings").value(report.trainings).key("resumes").value(report.resumes);
  json.key("threads").open('[');
  for (const int count : report.threads) json.value(count);
  json.close(']').key("deliveries").open('{');
  for (const auto& [delivery, times] : report.deliveries) json.key(delivery).value(times);
  return json.close('}').line();
}

}  // namespace millrace::cli
