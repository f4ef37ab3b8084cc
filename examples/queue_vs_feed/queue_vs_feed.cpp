// Trains the same model by each way in which batches can reach the step. Usage: queue_vs_feed [CONFIG]
#include <millrace/millrace.h>

#include <cstdio>
#include <string>

int main(int count, char** words) {
  const std::string config = count > 1 ? words[1] : "queue_vs_feed.yaml";
  try {
    std::string weights;
    for (const char* delivery : {"feed", "{kind: queue, capacity: 5, threads: 2}", "native"}) {
      millrace::Trainer trainer = millrace::Trainer::from_file(config, {std::string("delivery=") + delivery});
      const millrace::TrainResult result = trainer.run();
      std::printf("%-38s %6.2f ms a step, waited for input %3.0f %%\n", delivery,
                  1e3 * result.seconds / static_cast<double>(result.steps), 100 * result.input_wait);
      if (weights.empty()) weights = result.weights;
      if (result.weights != weights) {
        std::fprintf(stderr, "not the same training\n");
        return 1;
      }
    }
    std::printf("the same weights: %s\n", weights.c_str());
  } catch (const millrace::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
