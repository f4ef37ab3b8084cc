#include <string>
#include <vector>

#include "millrace/cli/run.h"

int main(int argc, char** argv) {
  return millrace::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
