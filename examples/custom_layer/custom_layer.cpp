// A program with layers of its own: checks their gradients, then trains with them.
#include <millrace/extend.h>
#include <millrace/millrace.h>
#include <millrace/testing.h>

#include <iostream>

#include "center.h"
#include "gate.h"
#include "layers.h"

constexpr auto kConfig = R"(
seed: 23
device: cpu
input:
  - synthetic: {task: sum, features: 64, rows: 20000}
  - batch: {batch_size: 200}
model:
  - center
  - dense: {name: value, units: 32}
  - dense: {name: share, from: center, units: 32}
  - gate: {from: [value, share]}
  - prelu: {slope: 0.1}
  - dense: {units: 8}
  - softsign
  - dense: {units: 1}
loss: sigmoid_cross_entropy
optimizer: {adam: {learning_rate: 0.01}}
)";

int main() {
  try {
    SoftsignLayer softsign({});
    PreluLayer prelu({});
    CenterLayer center({});
    GateLayer gate({});
    for (const millrace::GradientCheck& check :
         {millrace::check_gradients(softsign), millrace::check_gradients(prelu), millrace::check_gradients(center),
          millrace::check_gradients(gate, {.inputs = {millrace::Shape{7}, millrace::Shape{7}}})}) {
      const bool right = check.error < 1e-7;
      std::cout << "gradients: " << (right ? "right" : "WRONG: " + check.worst) << '\n';
      if (!right) return 1;
    }

    millrace::Catalog catalog = millrace::Catalog::builtin();
    catalog.add_layer<SoftsignLayer>("softsign");
    catalog.add_layer<PreluLayer>("prelu");
    catalog.add_layer<CenterLayer>("center");
    catalog.add_layer<GateLayer>("gate");
    millrace::Trainer trainer = millrace::Trainer::from_string(kConfig, "config", {}, catalog);
    const millrace::TrainResult result = trainer.run();
    std::cout << "trained " << result.steps << " steps, loss " << result.loss << '\n';

    // The catalog is needed here, too: the model has these layers.
    trainer.save("custom.safetensors");
    const millrace::Network network = millrace::Network::load("custom.safetensors", {}, catalog);
    const std::vector<float> row(64, 0.5f);
    std::cout << "the sum of 64 halves is " << (network.predict(row)[0] > 0 ? "positive" : "negative") << '\n';
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
