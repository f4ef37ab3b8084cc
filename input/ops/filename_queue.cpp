// filename_queue: gives the files of a run, which are matched once; every epoch has its own order.
//
// The order of pass p over n files, with `shuffle`: start from the matched order; for i = n - 1 down to 1 swap the
// files at i and scale_to(philox64(seed, fnv1a64(name), p * 2^32 + i), i + 1). The order depends on nothing else, so a
// run may begin anywhere.
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/catalog.h"
#include "millrace/input/sources/file_names.h"

namespace millrace {

namespace {

struct FilenameQueueOptions : FileNamesOptions {
  std::vector<std::string> files;
  Place files_place;

  void declare(OptionReader& o) {
    o.required("files", files, "a path, a pattern (*, ?, [..]), or a list of them");
    o.may_be("files", {{.is = OptionForm::Is::text},
                       {.is = OptionForm::Is::list, .items = option_forms<std::string>(), .not_empty = true}});
    o.used_as("files", OptionUse::files);
    FileNamesOptions::declare(o);
    if (!o.reading()) return;
    files_place = o.node("files").place();
    if (files.empty()) throw o.node("files").error("expected at least one file or pattern, got an empty list");
  }
};

class FilenameQueue final : public FileNames {
 public:
  using Options = FilenameQueueOptions;
  static constexpr std::string_view kLeads = "nothing to names";
  static constexpr std::string_view kDoc = "names the files to read, in a fresh order in every epoch";
  static constexpr std::string_view kExample = "files: \"data/*.csv\", epochs: 2";

  explicit FilenameQueue(const Options& options)
      : FileNames({.match = [patterns = options.files, place = options.files_place](
                                FileSystem& file_system) { return match_files(patterns, place, file_system); },
                   .place = options.files_place},
                  options) {}
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(filename_queue, FilenameQueue);
