// Hdf5Dataset: the numbers of a dataset of an HDF5 file as a File of the bytes that they have there, row after row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/input/arrays/array_layout.h"
#include "millrace/input/hdf5/hdf5_library.h"

namespace millrace {

class Hdf5Dataset;

// What the datasets of a source share.
struct Hdf5Pool {
  FileSystem* files = nullptr;  // of another one than local() the files are read into memory as a whole
  size_t most = 4;              // datasets that are open; the one that was not read for longest is closed
  uint64_t memory = 0;          // that an open one takes, at most
  uint64_t images = 0;          // bytes of files in memory
  std::string warning = {};     // what makes reading slow, or empty
  // The last one was read last. Guarded by Hdf5::mutex().
  std::vector<const Hdf5Dataset*> open = {};
};

class Hdf5Dataset final : public File {
 public:
  struct Settings {
    std::shared_ptr<const FileEntry> file;
    std::string name;  // "/x"
    std::shared_ptr<Hdf5Pool> pool;
  };
  // Looks at the dataset. Throws DataError, without a place, if there is none or if it holds no numbers that a field
  // can hold; IoError if another program writes to the file.
  explicit Hdf5Dataset(Settings settings);
  ~Hdf5Dataset() override;

  const ArrayLayout& layout() const { return layout_; }
  // How many rows are stored together; 1 if each is stored by itself.
  uint64_t block_rows() const { return block_rows_; }

  uint64_t size() const override { return layout_.rows * layout_.row_bytes(); }
  // REQUIRES: whole rows. Throws DataError with what the library says.
  size_t read(uint64_t offset, void* to, size_t bytes) const override;

 private:
  struct Open {
    bool leads_out = false;  // a link to another file was met
    Hdf5Id file, properties, dataset, type, space;
  };

  bool in_memory() const { return settings_.pool->files != &FileSystem::local(); }
  std::unique_ptr<Open> open(const Hdf5& h) const;
  void look_at(const Hdf5& h, const Open& opened);
  void look_at_storage(const Hdf5& h, const Open& opened);
  // Opens it if it is closed.
  const Open& opened(const Hdf5& h) const;

  const Settings settings_;
  std::string image_;                   // of a file that is in memory; the library has a copy while it is open
  std::vector<Hdf5Calls::Size> sizes_;  // of all axes
  ArrayLayout layout_;
  uint64_t block_rows_ = 1, cache_bytes_ = 0, cached_chunks_ = 0;
  mutable std::unique_ptr<Open> open_;  // guarded by Hdf5::mutex()
};

}  // namespace millrace
