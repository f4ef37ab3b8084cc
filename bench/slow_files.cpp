// Serves the files of a folder as a file system that is as slow as network storage: each opening and each read takes a
// while, and all reads share one bandwidth. The files are read once at the start, so that the time of the folder's own
// storage is not added while memory lasts. The kernel's page cache and read-ahead work as for other file systems.
// Linux, as root; ends when it is unmounted.
//
//   slow_files FOLDER MOUNT MILLISECONDS GIGABYTES_A_SECOND [READ_AHEAD_KIB]
#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 128;             // requests that are under way at once
constexpr uint32_t kMostBytes = 1 << 20;  // of one read, as with NFS
constexpr uint64_t kFolder = FUSE_ROOT_ID;
constexpr uint64_t kValidSeconds = 3600;

struct Served {
  std::string name;
  int descriptor = -1;
  uint64_t bytes = 0;
};

// Opens the files of a folder and reads them into the page cache. Returns whether that succeeded for all.
bool load(const std::string& folder, std::vector<Served>& out) {
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return false;
  std::vector<char> buffer(kMostBytes);
  bool all_read = true;
  while (const dirent* entry = readdir(listing)) {
    Served file = {entry->d_name, open((folder + "/" + entry->d_name).c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat status = {};
    if (fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    file.bytes = static_cast<uint64_t>(status.st_size);
    ssize_t got = 0;
    while ((got = read(file.descriptor, buffer.data(), buffer.size())) > 0) {
    }
    all_read = all_read && got == 0;
    out.push_back(file);
  }
  closedir(listing);
  return all_read;
}

// Returns whether the system took it.
bool set_read_ahead(dev_t device, const char* kib) {
  std::ofstream out("/sys/class/bdi/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)) +
                    "/read_ahead_kb");
  out << kib << std::flush;
  return out.good();
}

class Server {
 public:
  Server(std::vector<Served> files, int device, double seconds, double bytes_a_second)
      : device_(device), delay_(seconds), bandwidth_(bytes_a_second), files_(std::move(files)) {}

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this] { serve(); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void serve() {
    std::vector<char> in(FUSE_MIN_READ_BUFFER + kMostBytes), out(kMostBytes);
    for (;;) {
      const ssize_t got = read(device_, in.data(), in.size());
      if (got < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN) return;
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      fuse_in_header head;
      std::memcpy(&head, in.data(), sizeof head);
      answer(head, in.data() + sizeof head, out);
    }
  }

  // REQUIRES: `head` is what `arguments` belong to.
  void answer(const fuse_in_header& head, const char* arguments, std::vector<char>& out) {
    switch (head.opcode) {
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: return;
      case FUSE_INIT: return reply_value(head, init(as<fuse_init_in>(arguments)));
      case FUSE_LOOKUP: return look_up(head, arguments);
      case FUSE_GETATTR: {
        fuse_attr_out attributes = {};
        attributes.attr_valid = kValidSeconds;
        attributes.attr = attributes_of(head.nodeid);
        return reply_value(head, attributes);
      }
      case FUSE_OPEN: wait(0); [[fallthrough]];
      case FUSE_OPENDIR: {
        fuse_open_out opened = {};
        opened.open_flags = FOPEN_KEEP_CACHE;
        return reply_value(head, opened);
      }
      case FUSE_READ: return read_file(head, as<fuse_read_in>(arguments), out);
      case FUSE_READDIR: return list(head, as<fuse_read_in>(arguments));
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR:
      case FUSE_FLUSH:
      case FUSE_ACCESS: return reply(head, 0, nullptr, 0);
      default: return reply(head, -ENOSYS, nullptr, 0);
    }
  }

  static fuse_init_out init(const fuse_init_in& asked) {
    fuse_init_out out = {};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = FUSE_KERNEL_MINOR_VERSION;
    out.max_readahead = asked.max_readahead;
    out.flags = FUSE_ASYNC_READ | FUSE_MAX_PAGES | FUSE_PARALLEL_DIROPS;
    out.max_background = kThreads;
    out.congestion_threshold = kThreads;
    out.max_write = kMostBytes;
    out.max_pages = kMostBytes / 4096;
    out.time_gran = 1;
    return out;
  }

  void look_up(const fuse_in_header& head, std::string_view name) {
    const auto found =
        std::find_if(files_.begin(), files_.end(), [&](const Served& file) { return file.name == name; });
    if (found == files_.end()) return reply(head, -ENOENT, nullptr, 0);
    fuse_entry_out entry = {};
    entry.nodeid = kFolder + 1 + static_cast<uint64_t>(found - files_.begin());
    entry.entry_valid = entry.attr_valid = kValidSeconds;
    entry.attr = attributes_of(entry.nodeid);
    reply_value(head, entry);
  }

  fuse_attr attributes_of(uint64_t node) const {
    fuse_attr out = {};
    out.ino = node;
    out.nlink = 1;
    out.mode = S_IFDIR | 0755;
    if (node == kFolder) return out;
    out.mode = S_IFREG | 0444;
    out.size = files_[node - kFolder - 1].bytes;
    return out;
  }

  void read_file(const fuse_in_header& head, const fuse_read_in& wanted, std::vector<char>& out) {
    const Served& file = files_[head.nodeid - kFolder - 1];
    const ssize_t got =
        pread(file.descriptor, out.data(), std::min(wanted.size, kMostBytes), static_cast<off_t>(wanted.offset));
    if (got < 0) return reply(head, -EIO, nullptr, 0);
    wait(static_cast<double>(got));
    reply(head, 0, out.data(), static_cast<size_t>(got));
  }

  void list(const fuse_in_header& head, const fuse_read_in& wanted) {
    std::vector<char> out;
    for (size_t i = wanted.offset; i < files_.size(); ++i) {
      fuse_dirent entry = {};
      entry.ino = kFolder + 1 + i;
      entry.off = i + 1;
      entry.namelen = static_cast<uint32_t>(files_[i].name.size());
      entry.type = DT_REG;
      const size_t begin = out.size(), bytes = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + files_[i].name.size());
      if (begin + bytes > wanted.size) break;
      out.resize(begin + bytes);
      std::memcpy(out.data() + begin, &entry, FUSE_NAME_OFFSET);
      std::memcpy(out.data() + begin + FUSE_NAME_OFFSET, files_[i].name.data(), files_[i].name.size());
    }
    reply(head, 0, out.data(), out.size());
  }

  // Waits until so many bytes would have come: first for its turn on the link, then for the distance.
  void wait(double bytes) {
    Clock::time_point done;
    {
      const std::lock_guard lock(mutex_);
      link_free_ = std::max(link_free_, Clock::now()) + seconds(bytes / bandwidth_);
      done = link_free_ + seconds(delay_);
    }
    std::this_thread::sleep_until(done);
  }
  static Clock::duration seconds(double value) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
  }

  template <class T>
  static T as(const char* bytes) {
    T out;
    std::memcpy(&out, bytes, sizeof out);
    return out;
  }
  template <class T>
  void reply_value(const fuse_in_header& head, const T& value) {
    reply(head, 0, &value, sizeof value);
  }
  void reply(const fuse_in_header& head, int error, const void* data, size_t bytes) {
    fuse_out_header out = {static_cast<uint32_t>(sizeof(fuse_out_header) + bytes), error, head.unique};
    const iovec parts[2] = {{&out, sizeof out}, {const_cast<void*>(data), bytes}};
    // The request may have been interrupted, so a failure is ignored.
    [[maybe_unused]] const ssize_t written = writev(device_, parts, bytes == 0 ? 1 : 2);
  }

  const int device_;
  const double delay_, bandwidth_;
  const std::vector<Served> files_;
  std::mutex mutex_;
  Clock::time_point link_free_;  // guarded by mutex_
};

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fputs("usage: slow_files FOLDER MOUNT MILLISECONDS GIGABYTES_A_SECOND [READ_AHEAD_KIB]\n", stderr);
    return 2;
  }
  std::vector<Served> files;
  if (!load(words[1], files)) {
    std::perror("slow_files: cannot read the folder");
    return 1;
  }
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40755,user_id=0,group_id=0,allow_other";
  if (device < 0 ||
      mount("slow_files", words[2], "fuse.slow_files", MS_RDONLY | MS_NODEV | MS_NOSUID, options.c_str())) {
    std::perror("slow_files: cannot mount");
    return 1;
  }
  Server server(std::move(files), device, 1e-3 * std::atof(words[3]), 1e9 * std::atof(words[4]));
  std::thread serving([&] { server.run(); });
  struct stat status = {};
  stat(words[2], &status);  // waits until the mount is there
  const bool ready = count <= 5 || set_read_ahead(status.st_dev, words[5]);
  if (ready) {
    std::puts("mounted");
    std::fflush(stdout);
  } else {
    std::perror("slow_files: cannot set the read-ahead");
    umount(words[2]);
  }
  serving.join();
  return ready ? 0 : 1;
}
