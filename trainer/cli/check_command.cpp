#include "millrace/trainer/cli/check_report.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/configuration.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/trainer.h"
#include "millrace/trainer/yaml_writer.h"

namespace millrace::cli {

int run_check(const Arguments& arguments, Session& session) {
  Trainer trainer = Trainer::from_spec(read_configuration(arguments));
  trainer.input().check_files();
  if (const InputGraph* validation = trainer.validation_input()) validation->check_files();
  const Port& port = trainer.input().output();
  const CheckReport report{.rows = port.rows.text(),
                           .batch_size = port.batch_size,
                           .model = trainer.model().summary(),
                           .parameters = trainer.model().parameter_count(),
                           .memory_bound = trainer.memory_bound(),
                           .warnings = trainer.warnings()};
  const Spec* config = arguments.print ? &trainer.config().resolved : nullptr;
  if (arguments.json) {
    session.out.write(check_event(report, config));
  } else if (config != nullptr) {
    write_to_stderr(check_text(report));
    session.out.write(to_yaml(*config));
  } else {
    session.out.write(check_text(report));
  }
  session.out.flush();
  return kExitDone;
}

}  // namespace millrace::cli
