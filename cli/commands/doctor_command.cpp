#include <vector>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/doctor/doctor.h"
#include "millrace/cli/process/exit_code.h"

namespace millrace::cli {

namespace {

constexpr CommandText kDoctorText = {
    "doctor", "Checks the installation: processor, memory, limits, libraries, devices, and a tiny training.",
    "  trainer doctor [--json]",
    R"(Prints a line for each check: ok, warning or error, and what to do. The exit code is 0 unless
something that trainings need is broken; a fault of a device is only a warning if a training on it
succeeds.

EXAMPLES:
  trainer doctor
  trainer doctor --json
)",
    "trainer --version, README.md"};

struct DoctorArguments {
  bool json = false;

  void declare(Command& c) { c.flag("--json", json, "print it as one line of JSON"); }
};

int run_doctor(const DoctorArguments& arguments, Session& session) {
  const std::vector<Finding> findings = examine();
  session.out.write(arguments.json ? doctor_event(findings) : doctor_text(findings));
  return worst_of(findings) == Health::error ? kExitIo : kExitDone;
}

}  // namespace

Command doctor_command() { return make_command(kDoctorText, run_doctor); }

}  // namespace millrace::cli
