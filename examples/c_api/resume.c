/* Trains with checkpoints; if started again, it goes on where it ended. Usage: resume [SETTING..] */
#include <millrace/c.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const kConfig =
    "input:\n"
    "  - synthetic: {task: sum, features: 64, rows: 20000}\n"
    "  - batch: {batch_size: 200}\n"
    "model:\n"
    "  - dense: {units: 32, activation: relu}\n"
    "  - dense: {units: 1}\n"
    "loss: sigmoid_cross_entropy\n"
    "optimizer: {adam: {learning_rate: 0.01}}\n"
    "train: {log_every: 20}\n"
    "checkpoint: {dir: checkpoints, every: 10}\n";

static void check(millrace_status status, millrace_error** error) {
  if (status == MILLRACE_OK) return;
  fprintf(stderr, "%s\n", millrace_error_text(*error));
  millrace_error_free(*error);
  exit(1);
}

static void print_checkpoint(void* user, const millrace_checkpoint* checkpoint) {
  (void)user;
  printf("written: %s\n", checkpoint->file);
}

int main(int count, char** words) {
  millrace_error* error = NULL;
  millrace_trainer* trainer = NULL;
  int64_t step = -1;
  millrace_callbacks callbacks = {.size = sizeof callbacks, .on_checkpoint = print_checkpoint};
  millrace_result result = {.size = sizeof result};
  const char* const* settings = (const char* const*)(words + 1);
  check(millrace_trainer_from_string(kConfig, "sum.yaml", settings, (size_t)count - 1, NULL, &trainer, &error), &error);
  check(millrace_trainer_resume(trainer, NULL, &step, &error), &error);
  if (step >= 0) printf("goes on after step %lld\n", (long long)step);
  check(millrace_trainer_run(trainer, &callbacks, &result, &error), &error);
  printf("%s after %lld steps\n", result.reason, (long long)result.steps);
  if (result.failed_checkpoints > 0) fprintf(stderr, "%s\n", millrace_trainer_checkpoint_failure(trainer));
  millrace_trainer_free(trainer);
  return 0;
}
