/* Trains on rows of this program, saves the model, loads it and predicts: in C. */
#include <millrace/c.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const kConfig =
    "input:\n"
    "  - points: {epochs: 50}\n"
    "  - shuffle_batch: {batch_size: 20, capacity: 400, min_after_dequeue: 200}\n"
    "model:\n"
    "  - dense: {units: 8, activation: tanh}\n"
    "  - dense: {units: 1}\n"
    "loss: sigmoid_cross_entropy\n"
    "metrics: [accuracy]\n"
    "optimizer: {adam: {learning_rate: 0.01}}\n"
    "train: {log_every: 250}\n";

enum { kRows = 400 };

/* Ends the program if a call failed. `error` is read only after the call, so it is passed by its address. */
static void check(millrace_status status, millrace_error** error) {
  if (status == MILLRACE_OK) return;
  fprintf(stderr, "%s\n", millrace_error_text(*error));
  millrace_error_free(*error);
  exit(1);
}

static void print_step(void* user, const millrace_step* step) {
  (void)user;
  printf("step %lld: loss %.3f\n", (long long)step->step, step->loss);
}

int main(void) {
  /* Points of a square, and whether they lie above its diagonal. */
  static float points[kRows][2], labels[kRows];
  for (int row = 0; row < kRows; ++row) {
    const int x = row % 20, y = row / 20;
    points[row][0] = (float)x / 20;
    points[row][1] = (float)y / 20;
    labels[row] = y > x ? 1 : 0;
  }

  millrace_error* error = NULL;
  millrace_catalog* catalog = NULL;
  const millrace_field fields[] = {{"features", MILLRACE_FLOAT32, 2}, {"label", MILLRACE_FLOAT32, 1}};
  const void* const values[] = {points, labels};
  check(millrace_catalog_new(&catalog, &error), &error);
  check(millrace_catalog_add_rows(catalog, "points", fields, 2, kRows, values, &error), &error);

  millrace_trainer* trainer = NULL;
  millrace_callbacks callbacks = {.size = sizeof callbacks, .on_step = print_step};
  millrace_result result = {.size = sizeof result};
  check(millrace_trainer_from_string(kConfig, "points.yaml", NULL, 0, catalog, &trainer, &error), &error);
  check(millrace_trainer_run(trainer, &callbacks, &result, &error), &error);
  check(millrace_trainer_save(trainer, "points.safetensors", &error), &error);
  printf("trained %lld steps, loss %.3f\n", (long long)result.steps, result.loss);

  /* Loaded once; any number of threads may predict with it. */
  millrace_network* network = NULL;
  float outputs[2];
  const float corners[2][2] = {{0, 1}, {1, 0}};
  const void* const rows[] = {corners};
  check(millrace_network_load("points.safetensors", 1, NULL, &network, &error), &error);
  check(millrace_network_predict(network, rows, 2, outputs, &error), &error);
  printf("above: %s, below: %s\n", outputs[0] > 0 ? "yes" : "no", outputs[1] > 0 ? "yes" : "no");

  millrace_network_free(network);
  millrace_trainer_free(trainer);
  millrace_catalog_free(catalog);
  return 0;
}
