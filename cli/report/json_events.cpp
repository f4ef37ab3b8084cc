#include "millrace/cli/report/json_events.h"

#include "millrace/cli/report/result_text.h"
#include "millrace/cli/speed/speed_text.h"
#include "millrace/cli/text/json_text.h"

namespace millrace::cli {

namespace {

// Null for a training without checkpoints. A training with checkpoints writes at least the last one, or fails to.
void add_checkpoints(JsonText& json, const CheckpointSummary& summary) {
  json.key("checkpoints");
  if (summary.written == 0 && summary.failed == 0 && summary.file.empty()) {
    json.null();
    return;
  }
  json.open('{').key("written").value(summary.written).key("late").value(summary.late);
  json.key("failed").value(summary.failed).key("failure").text_or_null(summary.failure);
  json.key("file").text_or_null(summary.file).key("bytes").value(summary.bytes);
  json.key("copy_seconds").value(summary.copy_seconds).key("write_seconds").value(summary.write_seconds).close('}');
}

}  // namespace

uint64_t dropped_rows(const InputSummary& input) {
  uint64_t rows = 0;
  for (const Dropped& dropped : input.dropped) rows += dropped.rows;
  return rows;
}

std::string start_event(const StartReport& start) {
  JsonText json = JsonText::event("start");
  json.key("device").value(start.device).key("threads").value(start.threads);
  json.key("parameters").value(start.parameters).key("batch_size").value(start.batch_size);
  json.key("steps").value(start.steps);
  if (!start.weight.empty()) json.key("weight").value(start.weight);
  return json.line();
}

std::string step_event(const StepReport& step) {
  JsonText json = JsonText::event("step");
  json.key("step").value(step.step).key("epoch").value(step.epoch).key("loss").value(step.loss);
  json.key("metrics").value(step.metrics).key("rows_per_s").value(step.rows_per_s);
  return json.key("input_wait").value(step.input_wait).key("done").value(step.done).line();
}

std::string validation_event(const ValidationReport& report) {
  JsonText json = JsonText::event("validation");
  json.key("step").value(report.step).key("epoch").value(report.epoch).key("rows").value(report.rows);
  json.key("loss").value(report.loss).key("metrics").value(report.metrics);
  return json.key("best").value(report.best).key("seconds").value(report.seconds).line();
}

std::string resume_event(const ResumeReport& report) {
  return JsonText::event("resume").key("step").value(report.step).key("file").value(report.file).line();
}

std::string checkpoint_event(const CheckpointReport& report) {
  return JsonText::event("checkpoint").key("step").value(report.step).key("file").value(report.file).line();
}

std::string log_event(std::string_view text) { return JsonText::event("log").key("message").value(text).line(); }

std::string done_event(const TrainResult& result, const Diagnosis& diagnosis) {
  JsonText json = JsonText::event("done");
  json.key("reason").value(result.reason).key("steps").value(result.steps).key("resumed").value(result.resumed);
  json.key("rows").value(result.rows).key("epochs").value(result.epochs).key("seconds").value(result.seconds);
  json.key("last_batch").value(result.last_batch).key("loss").value(result.loss);
  json.key("metrics").value(result.metrics).key("skipped_steps").value(result.skipped_steps);
  json.key("dropped").value(dropped_rows(result.input)).key("bad").value(result.input.bad_rows);
  if (result.best) {
    json.key("best").open('{').key("step").value(result.best->step).key("metric").value(result.best->metric);
    json.key("value").value(result.best->value).close('}');
  }
  json.key("weights").value(result.weights).key("saved").text_or_null(result.saved);
  json.key("saved_last").text_or_null(result.saved_last);
  add_checkpoints(json, result.checkpoints);
  json.key("input_wait").value(result.input_wait);
  add_diagnosis(json, diagnosis, result.delivery);
  return json.line();
}

std::string done_event(const InputResult& result) {
  const InputSummary& input = result.input;
  JsonText json = JsonText::event("done");
  json.key("reason").value(result.reason).key("batches").value(input.batches).key("rows").value(input.rows);
  json.key("epochs").value(input.passes).key("dropped").value(dropped_rows(input)).key("bad").value(input.bad_rows);
  return json.key("seconds").value(result.seconds).line();
}

std::string evaluation_event(const EvaluationResult& result) {
  JsonText json = JsonText::event("evaluation");
  json.key("rows").value(result.rows).key("loss").value(result.loss).key("metrics").value(result.metrics);
  if (!result.weight.empty()) json.key("weight").value(result.weight);
  if (!result.in_label_unit.empty()) json.key("label_unit").value(result.in_label_unit);
  if (result.commonest_class) json.key("commonest_class").value(*result.commonest_class);
  return json.key("seconds").value(result.seconds).line();
}

std::string check_event(const CheckReport& report, const Spec* config) {
  JsonText json = JsonText::event("check");
  json.key("rows").value(report.rows).key("batch_size").value(report.batch_size);
  json.key("parameters").value(report.parameters).key("memory_bound").value(report.memory_bound);
  json.key("rows_read").value(report.rows_read);
  json.key("warnings").value(report.warnings);
  if (config != nullptr) json.key("config").value(*config);
  return json.line();
}

}  // namespace millrace::cli
