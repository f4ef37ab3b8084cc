// WorkFolder: the folder that a verification writes into: a new one for temporary files, or one that the user names.
// Neither copied nor moved; one thread uses it.
#pragma once

#include <string>

namespace millrace::cli {

class WorkFolder {
 public:
  // `keep` is the folder that stays, made if it is not there; empty: a new folder in $TMPDIR, or /tmp, which is removed
  // at the end. Throws UsageError if `keep` is there and is not empty, IoError.
  explicit WorkFolder(const std::string& keep);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  // It stays, whatever happens.
  void keep() { keeps_ = true; }
  bool keeps() const { return keeps_; }

  // Makes a folder in it and returns its path; removes one, unless all of it stays.
  std::string make(const std::string& name) const;
  void remove(const std::string& path) const;

 private:
  std::string path_;
  bool keeps_ = false;
};

}  // namespace millrace::cli
