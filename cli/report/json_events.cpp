#include "millrace/cli/report/json_events.h"

#include "millrace/cli/speed/diagnosis_text.h"

namespace millrace::cli {

namespace {

JsonText event(std::string_view name) {
  JsonText json;
  json.open('{').key("v").value(1).key("event").value(name);
  return json;
}

std::string ended(JsonText& json) {
  json.close('}');
  return json.text() + '\n';
}

}  // namespace

void add_metrics(JsonText& json, const MetricValues& metrics) {
  json.key("metrics").open('{');
  for (const auto& [name, value] : metrics) json.key(name).value(value);
  json.close('}');
}

std::string start_event(const StartReport& start) {
  JsonText json = event("start");
  json.key("device").value(start.device).key("threads").value(start.threads);
  json.key("parameters").value(start.parameters).key("batch_size").value(start.batch_size);
  json.key("steps").value(start.steps);
  return ended(json);
}

std::string step_event(const StepReport& step) {
  JsonText json = event("step");
  json.key("step").value(step.step).key("epoch").value(step.epoch).key("loss").value(step.loss);
  add_metrics(json, step.metrics);
  json.key("rows_per_s").value(step.rows_per_s).key("input_wait").value(step.input_wait);
  return ended(json);
}

std::string validation_event(const ValidationReport& report) {
  JsonText json = event("validation");
  json.key("step").value(report.step).key("epoch").value(report.epoch).key("rows").value(report.rows);
  json.key("loss").value(report.loss);
  add_metrics(json, report.metrics);
  json.key("best").value(report.best).key("seconds").value(report.seconds);
  return ended(json);
}

std::string log_event(std::string_view text) {
  JsonText json = event("log");
  json.key("message").value(text);
  return ended(json);
}

std::string done_event(const TrainResult& result, const Diagnosis& diagnosis) {
  JsonText json = event("done");
  json.key("reason").value(result.reason).key("steps").value(result.steps).key("rows").value(result.rows);
  json.key("epochs").value(result.epochs).key("seconds").value(result.seconds);
  json.key("last_batch").value(result.last_batch).key("loss").value(result.loss);
  add_metrics(json, result.metrics);
  json.key("skipped_steps").value(result.skipped_steps);
  json.key("dropped").value(dropped_rows(result.input)).key("bad").value(result.input.bad_rows);
  if (result.best) {
    json.key("best").open('{').key("step").value(result.best->step).key("metric").value(result.best->metric);
    json.key("value").value(result.best->value).close('}');
  }
  json.key("weights").value(result.weights);
  json.key("saved");
  result.saved.empty() ? json.null() : json.value(result.saved);
  json.key("input_wait").value(result.input_wait);
  add_diagnosis(json, diagnosis, result.delivery);
  return ended(json);
}

uint64_t dropped_rows(const InputSummary& input) {
  uint64_t rows = 0;
  for (const Dropped& dropped : input.dropped) rows += dropped.rows;
  return rows;
}

}  // namespace millrace::cli
