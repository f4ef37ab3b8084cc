#include "millrace/input/hdf5/hdf5_library.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr char kHdf5Hint[] = "install libhdf5-103-1 (Debian 12), or libhdf5 1.10 or later";

const Hdf5Calls& opened_hdf5() {
  static const Hdf5Calls calls;
  return calls;
}

// One error of the library's stack; the first one is where it began.
struct Hdf5Failure {
  int64_t sort, major, minor;
  unsigned line;
  const char *function, *file, *text;
};

int take_first(unsigned number, const void* failure, void* to) {
  const char* const text = static_cast<const Hdf5Failure*>(failure)->text;
  if (number == 0 && text != nullptr) *static_cast<std::string*>(to) = text;
  return 0;
}

}  // namespace

Hdf5Calls::Hdf5Calls()
    : library_({.name = "libhdf5",
                .purpose = "HDF5 files",
                .sonames = {"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so.103", "libhdf5.so.200",
                            "libhdf5.so.310", "libhdf5.so.320"},
                .hint = kHdf5Hint}) {
  unsigned numbers[3] = {};
  if (open() >= 0 && version(numbers, numbers + 1, numbers + 2) >= 0 &&
      (numbers[0] > 1 || (numbers[0] == 1 && numbers[1] >= 10))) {
    return;
  }
  throw ConfigError(cat(library_.path(), " is libhdf5 ", numbers[0], '.', numbers[1], ", which is too old"), {},
                    kHdf5Hint);
}

Mutex& Hdf5::mutex() {
  static Mutex mutex;
  return mutex;
}

Hdf5::Hdf5() : calls(opened_hdf5()) {
  mutex().lock();
  // The program may have set it for its own calls.
  calls.get_printing(0, &printer_, &printer_data_);
  calls.set_printing(0, nullptr, nullptr);
}

Hdf5::~Hdf5() {
  calls.set_printing(0, printer_, printer_data_);
  mutex().unlock();
}

void Hdf5::check(int64_t result, std::string_view what) const {
  if (result >= 0) return;
  std::string reason;
  calls.walk_errors(0, 0, take_first, &reason);
  if (reason.find("unable to lock file, errno = 11,") != reason.npos) {
    throw IoError("another program has opened the file to write", {},
                  "wait until it has closed the file, or read a copy");
  }
  // The mark of a writer in a file of the newer forms.
  if (reason.find("file is already open for write") != reason.npos) {
    throw IoError("another program writes the file, or ended before it closed it", {},
                  "wait until it has closed the file, or take its mark away: h5clear -s FILE");
  }
  if (reason.find("unable to lock file") != reason.npos) {
    throw IoError(cat(what, ": ", reason), {},
                  "if the file system has no locks, set the environment variable HDF5_USE_FILE_LOCKING=FALSE");
  }
  throw DataError(cat(what, ", libhdf5 says: ", reason.empty() ? "no reason" : reason));
}

}  // namespace millrace
