#include <vector>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/doctor/doctor.h"
#include "millrace/cli/process/exit_code.h"

namespace millrace::cli {

int run_doctor(const Arguments& arguments, Session& session) {
  const std::vector<Finding> findings = examine();
  session.out.write(arguments.json ? doctor_event(findings) : doctor_text(findings));
  session.out.flush();
  return worst_of(findings) == Health::error ? kExitIo : kExitDone;
}

}  // namespace millrace::cli
