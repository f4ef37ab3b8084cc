#include <vector>

#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/doctor.h"
#include "millrace/trainer/cli/exit_code.h"

namespace millrace::cli {

int run_doctor(const Arguments& arguments, Session& session) {
  const std::vector<Finding> findings = examine();
  session.out.write(arguments.json ? doctor_event(findings) : doctor_text(findings));
  session.out.flush();
  return worst_of(findings) == Health::error ? kExitIo : kExitDone;
}

}  // namespace millrace::cli
