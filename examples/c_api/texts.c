/* Trains on rows with texts, one of which is the label, and predicts the text of new rows: in C. */
#include <millrace/c.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const kConfig =
    "input:\n"
    "  - fruits: {epochs: 200}\n"
    "  - vocabulary: {field: colour, texts: [green, red, yellow], as: colour_code, unknown: code}\n"
    "  - one_hot: {field: colour_code, classes: 4, as: colours}\n"
    "  - vocabulary: {field: kind, texts: [apple, banana, cherry], as: label}\n"
    "  - batch: {batch_size: 8}\n"
    "model:\n"
    "  - concat: {from: [weight, colours]}\n"
    "  - dense: {units: 3}\n"
    "loss: softmax_cross_entropy\n"
    "optimizer: {adam: {learning_rate: 0.1}}\n";

/* Ends the program if a call failed. `error` is read only after the call, so it is passed by its address. */
static void check(millrace_status status, millrace_error** error) {
  if (status == MILLRACE_OK) return;
  fprintf(stderr, "%s\n", millrace_error_text(*error));
  millrace_error_free(*error);
  exit(1);
}

int main(void) {
  enum { kRows = 8, kNew = 3 };
  /* In units of 100 g. */
  static const float weights[kRows] = {1.5f, 1.6f, 1.4f, 1.2f, 1.3f, 0.1f, 0.1f, 0.2f};
  static const char* const colours[kRows] = {"red", "green", "green", "yellow", "yellow", "red", "red", "yellow"};
  static const char* const kinds[kRows] = {"apple", "apple", "apple", "banana", "banana", "cherry", "cherry", "cherry"};

  millrace_error* error = NULL;
  millrace_catalog* catalog = NULL;
  const millrace_field fields[] = {
      {"weight", MILLRACE_FLOAT32, 1}, {"colour", MILLRACE_TEXT, 1}, {"kind", MILLRACE_TEXT, 1}};
  const void* const values[] = {weights, colours, kinds};
  check(millrace_catalog_new(&catalog, &error), &error);
  check(millrace_catalog_add_rows(catalog, "fruits", fields, 3, kRows, values, &error), &error);

  millrace_trainer* trainer = NULL;
  millrace_network* network = NULL;
  check(millrace_trainer_from_string(kConfig, "fruits.yaml", NULL, 0, catalog, &trainer, &error), &error);
  check(millrace_trainer_run(trainer, NULL, NULL, &error), &error);
  check(millrace_trainer_network(trainer, &network, &error), &error);

  /* NULL is a missing text. Every row has an output for each class. */
  const float new_weights[kNew] = {1.5f, 1.2f, 0.1f};
  const char* const new_colours[kNew] = {"green", "yellow", NULL};
  const void* const rows[] = {new_weights, new_colours};
  float outputs[kNew * 3];
  int64_t classes[kNew];
  double probabilities[kNew * 3];
  check(millrace_network_predict(network, rows, kNew, outputs, &error), &error);
  check(millrace_network_answer(network, outputs, kNew, classes, probabilities, &error), &error);
  for (int row = 0; row < kNew; ++row) {
    printf("%s: %.2f\n", millrace_network_class(network, classes[row]), probabilities[3 * row + classes[row]]);
  }

  millrace_network_free(network);
  millrace_trainer_free(trainer);
  millrace_catalog_free(catalog);
  return 0;
}
