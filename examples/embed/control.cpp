// Two trainings at once, one of which is stopped from outside; and the parts of an error.
#include <millrace/millrace.h>

#include <future>
#include <iostream>
#include <string>

constexpr auto kTypo = R"(input:
  - synthetic: {feature: 64}
  - batch: {batch_size: 200}
model: [dense: {units: 1}]
loss: sigmoid_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
)";

// Stops a training, however its scope is left.
struct StopAtEnd {
  millrace::Trainer& trainer;
  ~StopAtEnd() { trainer.stop(); }
};

void print(const millrace::Error& error) {
  std::cout << millrace::to_string(error.kind()) << " error: " << error.message() << '\n';
  if (error.place().known()) std::cout << "  at " << error.place().text() << '\n';
  if (!error.hint().empty()) std::cout << "  hint: " << error.hint() << '\n';
}

void train_two() {
  millrace::Trainer first = millrace::Trainer::from_file("embed.yaml", {"threads=1"});
  millrace::Trainer second =
      millrace::Trainer::from_file("embed.yaml", {"threads=1", "seed=24", "input.synthetic.rows=1000000000"});
  std::cout << "each takes at most " << (first.memory_bound() + 999999) / 1000000 << " MB\n";

  std::future<millrace::TrainResult> other = std::async(std::launch::async, [&] { return second.run(); });
  {
    const StopAtEnd stop{second};
    millrace::TrainCallbacks callbacks;
    callbacks.on_start = [](const auto& report) { std::cout << report.parameters << " parameters\n"; };
    callbacks.on_progress = [](const auto& report) { std::cerr << "step " << report.step << "\r"; };
    callbacks.on_log = [](std::string_view line) { std::cerr << line << '\n'; };
    const millrace::TrainResult result = first.run(callbacks);
    std::cout << "first: " << result.reason << '\n';
  }
  std::cout << "second: " << other.get().reason << '\n';
}

int main() {
  try {
    train_two();
    millrace::Trainer::from_string(kTypo, "typo.yaml");
  } catch (const millrace::ConfigError& error) {
    print(error);
  } catch (const millrace::Error& error) {
    print(error);
    return 1;
  }
}
