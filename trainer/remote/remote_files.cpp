#include "millrace/trainer/remote/remote_files.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/remote/messages.h"

namespace millrace {

namespace {

// Of one read; a longer one takes several.
constexpr uint64_t kMostRead = uint64_t{1} << 20;

State question(std::string_view what, const std::string& path) {
  State out = make_message(message::kFile);
  out.set_text("what", what);
  out.set_text("path", path);
  return out;
}

class RemoteFile final : public File {
 public:
  RemoteFile(const RemoteFiles::Ask& ask, std::string path) : ask_(ask), path_(std::move(path)), at_open_(size()) {}

  uint64_t size() const override { return ask_(question("open", path_)).state.value("size"); }
  uint64_t size_at_open() const override { return at_open_; }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    size_t done = 0;
    while (done < bytes) {
      const uint64_t wanted = std::min<uint64_t>(bytes - done, kMostRead);
      State read = question("read", path_);
      read.set("range", {offset + done, wanted});
      const std::string got = ask_(std::move(read)).bytes;
      if (got.size() > wanted) throw IoError("a worker gave more bytes than it was asked for", {path_});
      std::memcpy(static_cast<char*>(to) + done, got.data(), got.size());
      done += got.size();
      if (got.size() < wanted) break;
    }
    return done;
  }

 private:
  const RemoteFiles::Ask& ask_;
  const std::string path_;
  const uint64_t at_open_;
};

}  // namespace

std::unique_ptr<File> RemoteFiles::open(const std::string& path) { return std::make_unique<RemoteFile>(ask_, path); }

std::unique_ptr<ByteStream> RemoteFiles::open_stream(const std::string& path) {
  throw ConfigError("workers cannot read standard input or a pipe", {path},
                    "write the data to a file, or set fallback: local");
}

FileSystem::Look RemoteFiles::look(const std::string& path) {
  const State answer = ask_(question("look", path)).state;
  return {static_cast<Type>(answer.count("type", static_cast<uint64_t>(Type::other))), answer.value("size")};
}

std::vector<std::string> RemoteFiles::names(std::string_view what, const std::string& path) {
  const FileAnswer answer = ask_(question(what, path));
  std::vector<std::string> out;
  std::string_view rest = answer.bytes;
  while (!rest.empty()) {
    const size_t end = rest.find('\0');
    if (end == rest.npos) throw DataError("a worker's list of names has no end");
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return out;
}

FileAnswer answer_file_question(const State& question, FileSystem& files) {
  const std::string& what = question.text("what");
  const std::string& path = question.text("path");
  FileAnswer out{.state = make_message(message::kFile), .bytes = {}};
  if (path.find('\0') != path.npos) throw DataError("a path has a NUL character");
  if (what == "look") {
    const FileSystem::Look look = files.look(path);
    out.state.set("type", static_cast<uint64_t>(look.type));
    out.state.set("size", look.size);
  } else if (what == "match" || what == "list") {
    for (const std::string& name : what == "match" ? files.match(path) : files.list(path)) (out.bytes += name) += '\0';
  } else if (what == "open") {
    out.state.set("size", files.open(path)->size());
  } else if (what == "read") {
    const std::vector<uint64_t>& range = question.values("range");
    if (range.size() != 2 || range[1] > kMostRead) throw DataError("the range of a read is too long");
    const auto file = files.open(path);
    const uint64_t size = file->size();
    out.bytes.resize(range[0] < size ? std::min(range[1], size - range[0]) : 0);
    out.bytes.resize(file->read(range[0], out.bytes.data(), out.bytes.size()));
  } else {
    throw DataError(cat("there is no question ", quote(what), " about files"));
  }
  return out;
}

}  // namespace millrace
