#include "millrace/cli/report/json_log.h"

#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/files_in_use.h"

namespace millrace::cli {

namespace {

// Says what would be lost if the training wrote its log to `path`; empty if nothing would be.
std::string loss_by(const std::string& path, const Trainer& trainer) {
  const Config& config = trainer.config();
  std::string loss = would_overwrite(path, trainer.input().files(), config.written.place().file);
  if (const InputGraph* validation = trainer.validation_input(); validation != nullptr && loss.empty()) {
    loss = would_overwrite(path, validation->files(), {});
  }
  if (loss.empty() && config.load) loss = would_overwrite(path, {}, config.load->file);
  const auto& save = config.save;
  if (loss.empty() && save && (same_file(path, save->file) || same_file(path, save->last_file()))) {
    loss = cat(quote(path, 4096), " is the file that the model is saved to");
  }
  return loss;
}

// Whether the file lies in `folder`. The folder may not exist yet.
bool lies_in(const std::string& folder, const std::filesystem::path& file) {
  return same_file((std::filesystem::path(folder) / file.filename()).string(), file.string());
}

}  // namespace

std::optional<std::string> log_file(const Trainer& trainer) {
  const auto& log = trainer.config().log;
  return log ? log->json : std::nullopt;
}

void check_log(const Trainer& trainer) {
  const std::optional<std::string> path = log_file(trainer);
  if (!path) return;
  const Spec& node = trainer.config().node("log");
  const std::string loss = loss_by(*path, trainer);
  if (!loss.empty()) throw node.error(cat("json: ", loss), "give it another name");
  const auto& checkpoint = trainer.config().checkpoint;
  if (checkpoint && lies_in(checkpoint->dir, *path)) {
    if (std::filesystem::path(*path).filename().string().starts_with("checkpoint")) {
      throw node.error(cat("json: ", quote(*path, 4096), " is called like a file of the checkpoints, in their folder"),
                       "give it another name");
    }
    // The training makes a missing folder before the log is opened, so the file cannot be tried yet.
    std::error_code ignored;
    if (!std::filesystem::exists(checkpoint->dir, ignored)) return;
  }
  AppendFile::check(*path);
}

void JsonLog::begin() {
  if (path_.empty()) return;
  file_.emplace(path_, goes_on_);
  std::error_code ignored;
  length_ = std::filesystem::file_size(path_, ignored);
}

bool JsonLog::write(std::string_view line) {
  if (!file_) return true;
  try {
    file_->append(line);
    length_ += line.size();
    return true;
  } catch (const IoError& error) {
    // Removes the part that was written: the next line would be joined to it, and neither could be read.
    std::error_code ignored;
    std::filesystem::resize_file(path_, length_, ignored);
    const bool first = failure_.empty();
    if (first) failure_ = error.what();
    return !first;
  }
}

}  // namespace millrace::cli
