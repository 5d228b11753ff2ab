// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/candidates/hdf5_handle.hpp"

#include <type_traits>

#include <hdf5.h>

namespace forebay::bench::checkpoint::hdf5 {

static_assert(std::is_same_v<hid_t, Hid>);
static_assert(std::is_same_v<herr_t, Herr>);
static_assert(std::is_same_v<hsize_t, Hsize>);

Status status(Herr code, const char* operation, const std::string& path) {
  if (code >= 0) return {};
  return failure({.kind = ErrorClass::kIo,
                  .operation = operation,
                  .path = path,
                  .cause = "HDF5 failed; see its message above"});
}

Handle simple_space(Hsize words) { return {H5Screate_simple(1, &words, nullptr), &H5Sclose}; }

Handle hyperslab(Hsize words, Hsize begin, Hsize count) {
  Handle space = simple_space(words);
  if (space) H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
  return space;
}

}  // namespace forebay::bench::checkpoint::hdf5
