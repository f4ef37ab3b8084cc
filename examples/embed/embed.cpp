// Trains in this process, from a configuration to a saved model. Usage: embed [CONFIG]
#include <millrace/millrace.h>

#include <iostream>

int main(int count, char** words) {
  try {
    millrace::Trainer trainer = millrace::Trainer::from_file(count > 1 ? words[1] : "embed.yaml");
    millrace::TrainCallbacks callbacks;
    callbacks.on_step = [](const auto& report) { std::cout << report.step << ": loss " << report.loss << '\n'; };
    const millrace::TrainResult result = trainer.run(callbacks);
    trainer.save("model.safetensors");
    std::cout << "trained " << result.steps << " steps, loss " << result.loss << '\n';
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
