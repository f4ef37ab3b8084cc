// Hdf5: libhdf5, opened when the first file needs it. A build needs neither the library nor its headers.
//
// The library is not made for threads, so whoever calls it has an Hdf5, which only one thread of the process has at a
// time:
//
//   const Hdf5 h;
//   const Hdf5Id file = h.own(h.calls.open_file("a.h5", 0, 0), h.calls.close_file, "cannot open the file");
//
// Meanwhile the library prints no errors; check() makes errors of ours of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/library_call.h"
#include "millrace/core/shared_library.h"
#include "millrace/core/threads/mutex.h"

namespace millrace {

// What libhdf5 1.10 and later have, as far as it is called here.
struct Hdf5Calls {
  using Id = int64_t;
  using Size = uint64_t;

 private:
  SharedLibrary library_;

 public:
  // Throws ConfigError if there is no library, or an older one.
  Hdf5Calls();

  int (*open)() = library_.named("H5open");
  int (*version)(unsigned*, unsigned*, unsigned*) = library_.named("H5get_libversion");
  int (*free_memory)(void*) = library_.named("H5free_memory");
  int (*get_printing)(Id, void**, void**) = library_.named("H5Eget_auto2");
  int (*set_printing)(Id, void*, void*) = library_.named("H5Eset_auto2");
  int (*walk_errors)(Id, int, int (*)(unsigned, const void*, void*), void*) = library_.named("H5Ewalk2");

  Id (*open_file)(const char*, unsigned, Id) = library_.named("H5Fopen");
  int (*close_file)(Id) = library_.named("H5Fclose");
  Id (*open_object)(Id, const char*, Id) = library_.named("H5Oopen");
  int (*close_object)(Id) = library_.named("H5Oclose");
  int (*sort_of)(Id) = library_.named("H5Iget_type");
  ptrdiff_t (*name_of_link)(Id, const char*, int, int, Size, char*, size_t, Id) = library_.named("H5Lget_name_by_idx");

  Id (*open_dataset)(Id, const char*, Id) = library_.named("H5Dopen2");
  int (*close_dataset)(Id) = library_.named("H5Dclose");
  Id (*space_of)(Id) = library_.named("H5Dget_space");
  Id (*type_of)(Id) = library_.named("H5Dget_type");
  Id (*properties_of)(Id) = library_.named("H5Dget_create_plist");
  Size (*stored_bytes)(Id) = library_.named("H5Dget_storage_size");
  int (*read)(Id, Id, Id, Id, Id, void*) = library_.named("H5Dread");

  Id (*make_space)(int, const Size*, const Size*) = library_.named("H5Screate_simple");
  int (*close_space)(Id) = library_.named("H5Sclose");
  int (*sort_of_space)(Id) = library_.named("H5Sget_simple_extent_type");
  int (*rank_of)(Id) = library_.named("H5Sget_simple_extent_ndims");
  int (*sizes_of)(Id, Size*, Size*) = library_.named("H5Sget_simple_extent_dims");
  int (*select)(Id, int, const Size*, const Size*, const Size*, const Size*) = library_.named("H5Sselect_hyperslab");

  int (*class_of)(Id) = library_.named("H5Tget_class");
  size_t (*bytes_of)(Id) = library_.named("H5Tget_size");
  int (*order_of)(Id) = library_.named("H5Tget_order");
  int (*sign_of)(Id) = library_.named("H5Tget_sign");
  size_t (*bits_of)(Id) = library_.named("H5Tget_precision");
  int (*float_of)(Id, size_t*, size_t*, size_t*, size_t*, size_t*) = library_.named("H5Tget_fields");
  Id (*base_of)(Id) = library_.named("H5Tget_super");
  int (*members_of)(Id) = library_.named("H5Tget_nmembers");
  char* (*member_name)(Id, unsigned) = library_.named("H5Tget_member_name");
  int (*close_type)(Id) = library_.named("H5Tclose");

  Id (*make_properties)(Id) = library_.named("H5Pcreate");
  int (*close_properties)(Id) = library_.named("H5Pclose");
  int (*set_external)(Id, int (*)(const char*, const char*, const char*, const char*, unsigned*, Id, void*),
                      void*) = library_.named("H5Pset_elink_cb");
  int (*set_cache)(Id, size_t, size_t, double) = library_.named("H5Pset_chunk_cache");
  int (*set_in_memory)(Id, size_t, unsigned) = library_.named("H5Pset_fapl_core");
  int (*set_image)(Id, const void*, size_t) = library_.named("H5Pset_file_image");
  int (*layout_of)(Id) = library_.named("H5Pget_layout");
  int (*chunk_of)(Id, int, Size*) = library_.named("H5Pget_chunk");
  int (*external_files)(Id) = library_.named("H5Pget_external_count");
  int (*filters_of)(Id) = library_.named("H5Pget_nfilters");
  int (*filter_of)(Id, unsigned, unsigned*, size_t*, unsigned*, size_t, char*,
                   unsigned*) = library_.named("H5Pget_filter2");
  int (*has_filter)(int) = library_.named("H5Zfilter_avail");

  const Id* const of_files = static_cast<const Id*>(library_.symbol("H5P_CLS_FILE_ACCESS_ID_g"));
  const Id* const of_datasets = static_cast<const Id*>(library_.symbol("H5P_CLS_DATASET_ACCESS_ID_g"));
};

// An object of the library. REQUIRES: whoever destroys it has an Hdf5.
class Hdf5Id {
 public:
  Hdf5Id() = default;
  Hdf5Id(Hdf5Calls::Id id, int (*close)(Hdf5Calls::Id)) : id_(id), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  operator Hdf5Calls::Id() const { return id_; }

 private:
  Hdf5Calls::Id id_ = -1;
  int (*close_)(Hdf5Calls::Id) = nullptr;
};

class MILLRACE_THREAD_ATTRIBUTE(scoped_lockable) Hdf5 {
 public:
  // Throws ConfigError if there is no library, which names its package.
  Hdf5() MILLRACE_THREAD_ATTRIBUTE(acquire_capability(mutex()));
  ~Hdf5() MILLRACE_THREAD_ATTRIBUTE(release_capability());
  Hdf5(const Hdf5&) = delete;
  Hdf5& operator=(const Hdf5&) = delete;

  // Of what only one thread does at a time.
  static Mutex& mutex();

  const Hdf5Calls& calls;

  // Throws DataError with what the library says if `result`, of the call before, is negative; IoError if the file is
  // locked. The error has no place.
  void check(int64_t result, std::string_view what) const;
  Hdf5Id own(Hdf5Calls::Id id, int (*close)(Hdf5Calls::Id), std::string_view what) const {
    check(id, what);
    return {id, close};
  }

 private:
  const LibraryCall mark_;
  void *printer_ = nullptr, *printer_data_ = nullptr;
};

}  // namespace millrace
