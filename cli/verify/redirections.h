// Settings that let a training write nothing outside a folder: its model, its checkpoints, its logs and what its input
// writes. Pure functions of a configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

// "key=value", as --set takes it, for a value that is a text.
std::string text_setting(std::string_view key, std::string_view text);

// The names that a training's files have in the folder.
inline constexpr const char *kModelName = "model.safetensors", *kCheckpointsName = "checkpoints";

struct Redirections {
  std::vector<std::string> settings;    // for `--set`
  std::vector<std::string> line_files;  // names in the folder: files of lines, which a resumed training goes on with
};
// The settings for a training of `config`, which is valid, in `folder`. `every`: it writes checkpoints after so many
// steps; absent: none. Every step is reported; with train.report_over: window every third step; in very long trainings
// fewer steps.
Redirections redirected_to(const std::string& folder, const Spec& config, const Catalog& catalog,
                           std::optional<int64_t> every);

}  // namespace millrace::cli
