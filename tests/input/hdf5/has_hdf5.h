// Whether tests can read HDF5 files: where libhdf5 is not there, they are skipped by this name.
#pragma once

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/input/hdf5/hdf5_library.h"

namespace millrace::testing_support {

inline bool has_hdf5() {
  try {
    const Hdf5 h;
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace millrace::testing_support

#define SKIP_WITHOUT_HDF5()                   \
  if (!millrace::testing_support::has_hdf5()) \
  GTEST_SKIP() << "libhdf5 is not there: scripts/setup --optional installs it"
