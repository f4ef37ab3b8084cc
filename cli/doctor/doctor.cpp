#include "millrace/cli/doctor/doctor.h"

#include <fmt/format.h>
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/cpu_quota.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

// Small enough for every machine, and large enough to run every part.
constexpr const char* kTrial = R"(
seed: 1
threads: auto
input:
  - synthetic: {features: 8, rows: 2048}
  - shuffle_batch: {batch_size: 32, capacity: 256, min_after_dequeue: 128}
model:
  - dense: {units: 16, activation: relu}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
)";

constexpr uint64_t kLittleMemory = uint64_t{256} << 20;
constexpr uint64_t kFewFiles = 256;

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

// The file of the loaded library whose name begins with `name`, with links followed; empty if there is none.
std::string loaded_file(std::string_view name) {
  struct Search {
    std::string_view name;
    std::string found = {};
  } search{name};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with(wanted.name)) wanted.found = path;
        return wanted.found.empty() ? 0 : 1;
      },
      &search);
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(search.found, failure);
  return failure ? search.found : real.string();
}

// How the name of a library's file begins.
std::string file_name_of(std::string_view library) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"oneDNN", "libdnnl."}, {"oneTBB", "libtbb."}, {"zlib", "libz."}, {"libdeflate", "libdeflate."}};
  for (const auto& [name, file] : kOthers) {
    if (library.starts_with(name)) return std::string(file);
  }
  return cat("lib", library.substr(0, library.find(' ')));  // without its version
}

std::string health_word(Health health) {
  return health == Health::ok ? "ok" : health == Health::warning ? "warning" : "error";
}

}  // namespace

Machine this_machine() {
  Machine out;
  out.processor = describe_build().processor;
  out.processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  out.allowed = allowed_processors();
  out.quota = quota_threads();
  out.threads = Executor::available_threads();
  out.memory = machine_memory();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) out.open_files = files.rlim_cur;
  const char* folder = std::getenv("TMPDIR");
  out.temporary = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  out.temporary_writable = ::access(out.temporary.c_str(), W_OK) == 0;
  out.folder_writable = ::access(".", W_OK) == 0;
  return out;
}

std::vector<Finding> judge_machine(const Machine& machine) {
  std::vector<Finding> out;
  // Adds a finding: ok, or a warning with the advice.
  const auto add = [&out](const char* check, const std::string& text, bool well, const char* advice) {
    out.push_back({check, text, well ? Health::ok : Health::warning, well ? "" : advice});
  };
  const auto has = [&](const char* feature) { return std::ranges::count(machine.processor, feature) > 0; };
  std::string features;
  for (const std::string& one : machine.processor) features += cat(features.empty() ? "" : " ", one);
  add("processor", features.empty() ? "baseline" : features, has("avx2") && has("fma"),
      "everything works, but text and products take longer than on a processor with AVX2");
  std::string threads = cat(count_of(machine.threads, "thread"), " of ", count_of(machine.processors, "processor"));
  if (machine.allowed < machine.processors) threads += cat(", ", machine.allowed, " allowed by the affinity");
  if (machine.quota > 0) threads += cat(", ", machine.quota, " by the quota of the cgroup");
  out.push_back({"threads", threads});
  if (const auto& memory = machine.memory) {
    add("memory",
        cat(format_bytes(memory->available), " free of ", format_bytes(memory->total),
            memory->limited ? ", the limit of the cgroup" : ""),
        memory->available >= kLittleMemory,
        "trainer check says what a training needs; smaller capacity and batch_size need less");
  } else {
    add("memory", "the kernel does not tell", false, "trainer check says what a training needs");
  }
  add("open files", machine.open_files == RLIM_INFINITY ? "no limit" : cat("at most ", machine.open_files),
      machine.open_files >= kFewFiles, "trainings run, but fewer threads read files at once: ulimit -n 1024");
  const auto writable = [](bool is) { return is ? " can be written" : " cannot be written"; };
  add("temporary", cat(machine.temporary, writable(machine.temporary_writable)), machine.temporary_writable,
      "set TMPDIR to a folder that can be written; trainings do not need one");
  add("folder", cat("the current folder", writable(machine.folder_writable)), machine.folder_writable,
      "save models to another one: --save FOLDER/model.safetensors");
  return out;
}

std::vector<Finding> installed_parts() {
  const BuildDescription build = describe_build();
  std::vector<Finding> out;
  out.push_back({"millrace", cat(version(), ", ", build.build_type, ", ",
                                 build.cuda.empty() ? "without CUDA" : cat("with CUDA ", build.cuda))});
  for (const std::string& capability : build.capabilities) out.push_back({"capability", capability});
  for (const std::string& capability : build.left_out) out.push_back({"left out", capability});
  std::vector<std::string> libraries = build.libraries;
  libraries.emplace_back("yaml-cpp");
  for (const std::string& library : libraries) {
    const std::string file = loaded_file(file_name_of(library));
    out.push_back({"library", cat(library, file.empty() ? ", linked in" : cat(", ", file))});
  }
  return out;
}

Finding try_training(const std::string& device) {
  const std::string check = cat("trial on ", device);
  try {
    Spec config = parse_yaml(kTrial, "trial");
    config.set("device", device);
    Trainer trainer = Trainer::from_spec(std::move(config));
    const TrainResult result = trainer.run();
    if (!std::isfinite(result.loss)) {
      return {check, cat("the loss is ", result.loss), Health::error, "the device or a library computes wrongly"};
    }
    return {check, cat(count_of(result.steps, "step"), ", loss ", format_value(result.loss), ", weights ",
                       result.weights.substr(0, 12))};
  } catch (const Error& error) {
    return {check, error.message(), Health::error, error.hint()};
  } catch (const std::exception& error) {
    return {check, error.what(), Health::error};
  }
}

std::vector<Finding> judge_devices(const CudaStatus& status) {
  std::vector<Finding> out;
  if (status.usable.empty()) {
    out.push_back({"gpu", cat("none: ", status.reason), status.worth_telling ? Health::warning : Health::ok,
                   status.worth_telling ? "trainings run on the CPU until this is mended" : ""});
    return out;
  }
  for (const int index : status.usable) {
    const std::string device = Device::cuda(index).text();
    try {
      parse_device(device, nullptr, {.convolutions = true});
    } catch (const Error& error) {
      out.push_back({"gpu", cat(device, ": ", error.message()), Health::warning, error.hint()});
      // Even if convolutions cannot run, a training of dense layers may.
      try {
        parse_device(device);
      } catch (const Error&) {
        continue;
      }
    }
    out.push_back(try_training(device));
  }
  return out;
}

std::vector<Finding> examine() {
  std::vector<Finding> out = installed_parts();
  for (Finding& one : judge_machine(this_machine())) out.push_back(std::move(one));
  out.push_back(try_training("cpu"));
  for (Finding& one : judge_devices(cuda_status())) out.push_back(std::move(one));
  return out;
}

Health worst_of(const std::vector<Finding>& findings) {
  return findings.empty() ? Health::ok : std::ranges::max(findings, {}, &Finding::health).health;
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string out;
  constexpr size_t kColumn = 26;
  for (const Finding& one : findings) {
    out += fmt::format("{:<9}{:<17}{}\n", health_word(one.health), one.check,
                       wrapped(escape_controls(one.text), kColumn, kColumn));
    if (!one.advice.empty())
      out += fmt::format("{:{}}-> {}\n", "", kColumn, wrapped(escape_controls(one.advice), kColumn + 3, kColumn + 3));
  }
  switch (worst_of(findings)) {
    case Health::ok: return out + "all is well\n";
    case Health::warning: return out + "trainings run; see the warnings\n";
    case Health::error: return out + "something that trainings need is broken; see the errors\n";
  }
  return out;
}

std::string doctor_event(const std::vector<Finding>& findings) {
  JsonText json = JsonText::event("doctor");
  json.key("health").value(health_word(worst_of(findings))).key("checks").open('[');
  for (const Finding& one : findings) {
    json.open('{').key("check").value(one.check).key("health").value(health_word(one.health));
    json.key("text").value(one.text).key("advice").text_or_null(one.advice).close('}');
  }
  return json.close(']').line();
}

}  // namespace millrace::cli
