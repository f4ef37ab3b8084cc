// WorkFolder: the folder that a verification writes into. It is a new temporary folder, or one that the user names.
// Neither copied nor moved; one thread uses it.
#pragma once

#include <string>

namespace millrace::cli {

class WorkFolder {
 public:
  // `keep` is a folder that stays; it is made if it is missing. If `keep` is empty, a new folder in $TMPDIR, or /tmp,
  // is used, and removed at the end. Throws UsageError if the folder `keep` exists and is not empty, IoError.
  explicit WorkFolder(const std::string& keep);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  // From now on, nothing in the folder is removed.
  void keep() { keeps_ = true; }
  bool keeps() const { return keeps_; }

  // make() makes a folder inside and returns its path. remove() removes such a folder, unless the work folder stays.
  std::string make(const std::string& name) const;
  void remove(const std::string& path) const;

 private:
  std::string path_;
  bool keeps_ = false;
};

}  // namespace millrace::cli
