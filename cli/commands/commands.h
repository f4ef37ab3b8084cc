// The subcommands. Each returns the exit code of a run that did not fail, and throws Errors.
#pragma once

#include "millrace/cli/arguments/arguments.h"
#include "millrace/cli/process/session.h"

namespace millrace::cli {

int run_train(const Arguments& arguments, Session& session);
int run_init(const Arguments& arguments, Session& session);
int run_check(const Arguments& arguments, Session& session);
int run_input(const Arguments& arguments, Session& session);
int run_speed(const Arguments& arguments, Session& session);
int run_compare(const Arguments& arguments, Session& session);
int run_evaluate(const Arguments& arguments, Session& session);
int run_predict(const Arguments& arguments, Session& session);
int run_generate_sum(const Arguments& arguments, Session& session);
int run_generate_images(const Arguments& arguments, Session& session);
int run_ops(const Arguments& arguments, Session& session);
int run_layers(const Arguments& arguments, Session& session);
int run_config(const Arguments& arguments, Session& session);
int run_schema(const Arguments& arguments, Session& session);
int run_completion(const Arguments& arguments, Session& session);
int run_doctor(const Arguments& arguments, Session& session);
int run_man(Session& session);
int run_version(Session& session);

}  // namespace millrace::cli
