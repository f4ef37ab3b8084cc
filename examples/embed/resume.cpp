// Trains with checkpoints; if started again, it goes on where it ended. SIGTERM and SIGINT end it, SIGUSR1 writes a
// checkpoint. Usage: resume [SETTING..]     such as resume train.steps=40
#include <millrace/millrace.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

volatile std::sig_atomic_t ends = 0, asks = 0;

extern "C" void note(int signal) { (signal == SIGUSR1 ? asks : ends) = 1; }

void train(std::vector<std::string> settings) {
  settings.push_back("checkpoint={dir: checkpoints, every: 10}");
  millrace::Trainer trainer = millrace::Trainer::from_file("embed.yaml", settings);
  trainer.appends_to("losses.txt");
  const bool resumed = trainer.resume().has_value();
  std::ofstream losses("losses.txt", resumed ? std::ios::app : std::ios::trunc);

  millrace::TrainCallbacks callbacks;
  callbacks.on_resume = [](const auto& report) { std::cout << "goes on after step " << report.step << '\n'; };
  callbacks.on_step = [&](const auto& report) { losses << report.step << ' ' << report.loss << std::endl; };
  callbacks.on_log = [](std::string_view line) { std::cerr << line << '\n'; };
  callbacks.on_progress = [&](const auto&) {
    if (ends) trainer.stop();
    if (asks) trainer.checkpoint();
    asks = 0;
  };
  const millrace::TrainResult result = trainer.run(callbacks);
  std::cout << result.reason << " after " << result.steps << " steps\n";
  if (result.checkpoints.failed > 0) std::cerr << "a checkpoint failed: " << result.checkpoints.failure << '\n';
}

int main(int count, char** words) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) std::signal(signal, note);
  try {
    train({words + 1, words + count});
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
