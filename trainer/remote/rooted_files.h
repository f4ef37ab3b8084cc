// RootedFiles: the files below one folder, for readers who are somewhere else. Paths are theirs, also in messages: a
// relative path begins in the folder, an absolute one must lead into it. Only plain files are opened, and nothing is
// written.
//
// A path that leads out of the folder, also by a symbolic link, counts as absent: it has no type, matches nothing, and
// open() fails as it does if there is no such file. So does a path that goes out by ".." and comes back, because
// whoever tries such paths would learn which folders are outside. A link may lead out and back.
//
// What a relative path or pattern gives is the same as from FileSystem::local() if the folder is the current one.
//
// Behind a path there stays the file that was first looked at or opened. If someone writes to it, replaces it or
// changes a link on its way, reads throw IoError, so whoever compared it does not get other bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/files/file_system.h"

namespace millrace {

class RootedFiles final : public FileSystem {
 public:
  // The file `hidden` is not there either. With an empty `root` all files of the machine are there, and relative paths
  // begin in the current folder. Throws MissingError if there is no such folder.
  explicit RootedFiles(const std::string& root, const std::string& hidden = {});

  std::unique_ptr<File> open(const std::string& path) override;
  // Throws ConfigError: there are no streams here.
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override;
  // Streams are of the type `other`.
  Type type(const std::string& path) override;
  Look look(const std::string& path) override;
  bool same(const std::string& a, const std::string& b) override;
  // Throws as FileSystem::local() does, and IoError for more than ten million paths.
  std::vector<std::string> match(const std::string& pattern) override;
  std::vector<std::string> list(const std::string& folder) override;
  // A number for when these files were last written to: another one after each time.
  uint64_t written(const std::vector<std::string>& paths) const;

 private:
  // Where a path leads: a path without links. `code`: why it leads nowhere, as errno says it.
  struct Found {
    std::string path;
    int code = 0;
  };
  Found find(std::string_view path) const;
  Found follow(std::string_view path, std::string at) const;
  Found enter(std::string_view& path) const;

  bool is_inside(std::string_view real) const;
  bool leads_inside(const std::string& entry) const;
  bool is_there(std::string_view path) const;
  std::vector<std::string> names_in(const std::string& folder) const;
  void expand(std::vector<std::string>& folders, std::string_view name, std::string_view slashes) const;

  std::string root_;    // without links; empty if it is /
  std::string begin_;   // where relative paths begin
  std::string hidden_;  // empty: no file
  const std::shared_ptr<class FirstLooks> first_looks_;
};

}  // namespace millrace
