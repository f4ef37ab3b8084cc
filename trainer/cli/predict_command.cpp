#include <functional>
#include <optional>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/atomic_file.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/prediction_text.h"
#include "millrace/trainer/cli/usage_error.h"
#include "millrace/trainer/files_in_use.h"
#include "millrace/trainer/predictor.h"

namespace millrace::cli {

namespace {

// Text that is worth a call of its own.
constexpr size_t kWriteBytes = size_t{1} << 16;

void check_out(const Arguments& arguments, const InputGraph& graph) {
  const std::string loss = would_overwrite(arguments.out, graph.files(), arguments.model);
  if (!loss.empty()) throw UsageError(cat("--out ", quote(arguments.out, 4096), ' ', loss), {}, "give it another name");
}

void write_predictions(Predictor& predictor, const Arguments& arguments,
                       const std::function<void(std::string_view)>& write) {
  const int64_t outputs = predictor.model().output().shape.elements();
  const PredictionText format(arguments.prediction_format,
                              prediction_kind(predictor.config().loss.kind, outputs, arguments.raw), outputs);
  std::string text = format.head();
  while (const RowBlock* batch = predictor.next()) {
    for (int64_t row = 0; row < batch->size(); ++row) {
      format.append(text, predictor.place(batch->id(row)).text(), predictor.output(row));
      if (text.size() < kWriteBytes) continue;
      write(text);
      text.clear();
    }
  }
  write(text);
}

}  // namespace

int run_predict(const Arguments& arguments, Session& session) {
  Predictor predictor(
      {.model = arguments.model, .data = arguments.data, .overrides = arguments.overrides, .data_place = {"--data"}});
  for (const std::string& warning : predictor.warnings()) {
    write_to_stderr(cat("warning: ", escape_controls(warning), '\n'));
  }
  std::optional<AtomicFile> file;
  if (!arguments.out.empty()) {
    check_out(arguments, predictor.input());
    file.emplace(arguments.out);
  }
  {
    const auto guard = session.signals.while_running([&] { predictor.stop(); });
    write_predictions(predictor, arguments,
                      [&](std::string_view text) { file ? file->write(text) : session.out.write(text); });
  }
  session.out.flush();
  if (predictor.stopped()) return exit_code_of_signal(session.signals.received());
  if (file) file->commit();
  return kExitDone;
}

}  // namespace millrace::cli
