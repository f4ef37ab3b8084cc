/* Trains and predicts by the interface for C. */
#include <millrace/c.h>
#include <stdio.h>

static const char kConfig[] =
    "device: cpu\n"
    "input: [{mine: {epochs: 5}}, {batch: {batch_size: 2}}]\n"
    "model: [{dense: {units: 1}}]\n"
    "loss: mse\n"
    "optimizer: {sgd: {learning_rate: 0.1}}\n";

int main(void) {
  const float features[] = {0, 1, 2, 3}, labels[] = {0, 2, 4, 6};
  const void* values[] = {features, labels};
  const millrace_field fields[] = {{"features", MILLRACE_FLOAT32, 1}, {"label", MILLRACE_FLOAT32, 1}};
  millrace_catalog* catalog = NULL;
  millrace_trainer* trainer = NULL;
  millrace_network* network = NULL;
  millrace_error* error = NULL;
  millrace_result result = {0};
  float output = 0;
  int failed;
  result.size = sizeof result;
  failed = millrace_catalog_new(&catalog, &error) != MILLRACE_OK ||
           millrace_catalog_add_rows(catalog, "mine", fields, 2, 4, values, &error) != MILLRACE_OK ||
           millrace_trainer_from_string(kConfig, "c.yaml", NULL, 0, catalog, &trainer, &error) != MILLRACE_OK ||
           millrace_trainer_run(trainer, NULL, &result, &error) != MILLRACE_OK ||
           millrace_trainer_network(trainer, &network, &error) != MILLRACE_OK ||
           millrace_network_predict(network, values, 1, &output, &error) != MILLRACE_OK;
  if (failed) fprintf(stderr, "%s\n", millrace_error_text(error));
  if (!failed) printf("trained %d steps with Millrace %s\n", (int)result.steps, millrace_version());
  millrace_error_free(error);
  millrace_network_free(network);
  millrace_trainer_free(trainer);
  millrace_catalog_free(catalog);
  return failed || result.steps != 10;
}
