#include "millrace/cli/run.h"

int main(int argc, char** argv) {
  const int program = argc > 0 ? 1 : 0;
  return millrace::cli::run(argc - program, argv + program);
}
