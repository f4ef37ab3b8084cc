// The program by which scripts/gpu-check times this library: one step, again and again, on one batch.
//
//   gpu_step write FOLDER CONFIG [SETTING...]           initial weights and batch, raw, for the peers; tells JSON
//   gpu_step resident STEPS LOSSES CONFIG [SETTING...]  the batch lies in the device's memory; CUDA events
//   gpu_step resident_group ..                          the same, a few steps in each launch
//   gpu_step trainer STEPS LOSSES CONFIG [SETTING...]   a Trainer with delivery constant; the wall's clock
//   gpu_step trainer_alone ..                           the same, where no steps go together in one launch
//   gpu_step rates [SMALL]                              what the GPU can do at best, and what launches and copies take
//   gpu_step candidates [SMALL]                         the ways to the products of mlp.yaml and to LeNet's
//                                                       convolutions, with their times
//   gpu_step on_host CONFIG [SETTING...]                what a step of a training costs the host
//   gpu_step about                                      the GPU, and the versions in use
//   gpu_step trainers COUNT CONFIG [SETTING...]         one trainer after another; memory in use after each
//   gpu_step bad_address                                a kernel that fails
//
// SETTING is PATH=VALUE as of trainer --set. All print JSON. Those with LOSSES train LOSSES steps and print their
// losses in one line of JSON; then, for every line of standard input, a number of repeats, they time so many times
// STEPS steps and print {"microseconds": [..]}, of a step each; `trainer` also says how often several steps went in one
// launch meanwhile, "groups". They end with their input; see bench/gpu/peer.py.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "bench/gpu/candidates.h"
#include "bench/gpu/device_step.h"
#include "bench/gpu/facts.h"
#include "bench/gpu/host_step.h"
#include "bench/gpu/latencies.h"
#include "bench/gpu/rates.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

namespace millrace::bench {

namespace {

using Words = std::span<const std::string>;

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double value : values) out += cat(out.size() > 1 ? ", " : "", number(value));
  return out + "]";
}

// CONFIG [SETTING...]
Spec configuration(Words words) {
  Spec spec = read_yaml_file(words.front());
  apply_overrides(spec, words.subspan(1));
  return spec;
}

void tell_ready(const std::vector<double>& losses, const std::string& device, const std::string& recorded) {
  std::cout << R"({"versions": {"millrace": ")" << version() << R"("}, "device": ")" << device << R"(", "recorded": )"
            << recorded << R"(, "losses": )" << list(losses) << '}' << std::endl;
}

void write_file(const std::string& path, const void* data, size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!file.flush()) throw IoError(cat("cannot write ", path));
}

void write(const std::string& folder, Words words) {
  DeviceStep step(configuration(words));
  std::string told;
  const auto tell = [&](const std::string& name, const Shape& shape) {
    told += cat(told.empty() ? "" : ", ", R"({"name": ")", name, R"(", "shape": [)");
    for (int axis = 0; axis < shape.rank(); ++axis) told += cat(axis > 0 ? ", " : "", shape[axis]);
    told += "]}";
  };
  const Model& model = step.model();
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const ConstTensorView parameter = model.parameter(i);
    std::vector<float> values(static_cast<size_t>(parameter.elements()));
    step.context().copy(values.data(), parameter.data(), values.size() * sizeof(float));
    step.context().synchronize();
    write_file(cat(folder, '/', model.parameters()[i].name, ".f32"), values.data(), values.size() * sizeof(float));
    tell(model.parameters()[i].name, parameter.shape());
  }
  const RowBlock& batch = step.batch();
  for (size_t field = 0; field < batch.spec().fields.size(); ++field) {
    const ConstTensorView rows = batch.view(field);
    if (rows.dtype() != DType::f32) throw ConfigError("only float32 fields can be written");
    std::vector<float> values;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const float* const begin = rows.as<float>() + row * rows.stride();
      values.insert(values.end(), begin, begin + rows.columns());
    }
    write_file(cat(folder, '/', batch.spec().fields[field].name, ".f32"), values.data(), values.size() * sizeof(float));
    tell(batch.spec().fields[field].name, rows.shape());
  }
  std::cout << R"({"written": [)" << told << "]}" << std::endl;
}

// For each line of standard input, calls `repeat` as often as the line says; it returns the microseconds of a step.
void serve(FunctionRef<double()> repeat) {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<double> values;
    for (int i = std::atoi(line.c_str()); i > 0; --i) values.push_back(repeat());
    std::cout << R"({"microseconds": )" << list(values) << '}' << std::endl;
  }
}

void resident(int steps, int losses, Words words, bool group) {
  DeviceStep step(configuration(words));
  std::vector<double> seen;
  for (int i = 0; i < losses; ++i) {
    step.run();
    seen.push_back(step.loss());
  }
  tell_ready(seen, step.context().device().text(), step.recorded() ? "true" : "false");
  serve([&] {
    const double taken = microseconds(step.context(), [&] {
      for (int done = 0; done < steps;) done += group ? step.run_several(steps - done) : step.run_several(1);
    });
    return taken / steps;
  });
}

// Runs the first steps of a training, and tells their losses.
void tell_first_losses(int losses, const Spec& spec) {
  Spec shortened = spec;
  apply_override(shortened, cat("train.steps=", losses));
  apply_override(shortened, "train.log_every=1");
  Trainer trainer = Trainer::from_spec(shortened);
  std::vector<double> seen;
  std::string device;
  TrainCallbacks callbacks;
  callbacks.on_start = [&](const StartReport& report) { device = report.device; };
  callbacks.on_step = [&](const StepReport& report) { seen.push_back(report.loss); };
  trainer.run(callbacks);
  tell_ready(seen, device, "null");
}

// A report waits for its step, so the time between two reports is the time of the steps between them. `alone`: a
// callback for every step makes the training launch each by itself.
void train(int steps, int losses, Words words, bool alone) {
  using Clock = std::chrono::steady_clock;
  Spec spec = configuration(words);
  tell_first_losses(losses, spec);
  apply_override(spec, cat("train.log_every=", steps));
  Trainer trainer = Trainer::from_spec(spec);
  Clock::time_point begin;
  int wanted = 0;
  uint64_t groups = 0;
  std::vector<double> values;
  TrainCallbacks callbacks;
  if (alone) callbacks.on_batch = [](const BatchReport&) {};
  callbacks.on_step = [&](const StepReport& report) {
    const double taken = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (wanted > 0) values.push_back(taken / steps);
    if (static_cast<int>(values.size()) == wanted) {
      if (wanted > 0) {
        std::cout << R"({"microseconds": )" << list(values) << R"(, "groups": )" << report.groups - groups << '}'
                  << std::endl;
      }
      values.clear();
      groups = report.groups;
      wanted = 0;
      std::string line;
      while (wanted == 0 && std::getline(std::cin, line)) wanted = std::atoi(line.c_str());
      if (wanted == 0) trainer.stop();
    }
    begin = Clock::now();
  };
  trainer.run(callbacks);
}

void rates(bool small) {
  Executor executor(1);
  Context context(parse_device("cuda:0"), executor);
  const RateSizes sizes = small ? RateSizes{.copied_bytes = size_t{1} << 16, .product = 64, .nodes = 10} : RateSizes{};
  std::vector<Rate> found = measure_rates(context, sizes);
  for (Rate& rate : measure_latencies(context, small)) found.push_back(std::move(rate));
  std::string told;
  for (const Rate& rate : found) {
    told += cat(told.empty() ? "" : ", ", '"', rate.name, R"(": {"unit": ")", rate.unit, R"(", "value": )",
                rate.failed.empty() ? number(rate.value) : "null",
                rate.failed.empty() ? "" : cat(R"(, "failed": )", json_string(rate.failed)), "}");
  }
  std::cout << '{' << told << '}' << std::endl;
}

void trainers(int count, Words words) {
  Spec spec = configuration(words);
  apply_override(spec, "train.steps=20");
  std::string device_used, host_used;
  for (int i = 0; i < count; ++i) {
    Device device;
    {
      Trainer trainer = Trainer::from_spec(spec);
      TrainCallbacks callbacks;
      callbacks.on_start = [&](const StartReport& report) { device = parse_device(report.device); };
      trainer.run(callbacks);
    }
    device_used += cat(i > 0 ? ", " : "", used_bytes(device));
    host_used += cat(i > 0 ? ", " : "", resident_bytes());
  }
  std::cout << R"({"device_used": [)" << device_used << R"(], "host_used": [)" << host_used << "]}" << std::endl;
}

int run(Words words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "rates") {
    rates(words.size() > 1);
  } else if (what == "candidates") {
    Executor executor(1);
    Context context(parse_device("cuda:0"), executor);
    std::cout << time_candidates(context, words.size() > 1) << std::endl;
  } else if (what == "about" || what == "bad_address") {
    Executor executor(1);
    Context context(parse_device("cuda:0"), executor);
    if (what == "bad_address") write_to_bad_address(context);
    std::cout << about_device(context) << std::endl;
  } else if (what == "trainers" && words.size() > 2) {
    trainers(std::atoi(words[1].c_str()), words.subspan(2));
  } else if (what == "on_host" && words.size() > 1) {
    std::cout << R"({"us": )" << number(host_us_a_step(configuration(words.subspan(1)))) << '}' << std::endl;
  } else if (what == "write" && words.size() > 2) {
    write(words[1], words.subspan(2));
  } else if ((what == "resident" || what == "resident_group") && words.size() > 3) {
    resident(std::atoi(words[1].c_str()), std::atoi(words[2].c_str()), words.subspan(3), what == "resident_group");
  } else if ((what == "trainer" || what == "trainer_alone") && words.size() > 3) {
    train(std::atoi(words[1].c_str()), std::atoi(words[2].c_str()), words.subspan(3), what == "trainer_alone");
  } else {
    std::fputs(
        "usage: gpu_step write FOLDER CONFIG.. | trainers COUNT CONFIG.. | on_host CONFIG.. | rates [SMALL] | "
        "candidates [SMALL] | about | bad_address\n"
        "       gpu_step resident|resident_group|trainer|trainer_alone STEPS LOSSES CONFIG..\n",
        stderr);
    return 2;
  }
  return 0;
}

}  // namespace

}  // namespace millrace::bench

int main(int count, char** words) {
  try {
    return millrace::bench::run(std::vector<std::string>(words + 1, words + count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_step: %s\n", error.what());
    return 70;
  }
}
