// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/contenders/hdf5_calls.hpp"

#include <type_traits>

#include <hdf5.h>

namespace forebay::bench::checkpoint::hdf5 {

static_assert(std::is_same_v<hid_t, Id>);
static_assert(std::is_same_v<herr_t, Outcome>);
static_assert(std::is_same_v<hsize_t, Words>);

Status status(Outcome code, const char* operation, const std::string& path) {
  if (code >= 0) return {};
  return failure({.kind = ErrorClass::kIo,
                  .operation = operation,
                  .path = path,
                  .cause = "HDF5 failed; its message is above"});
}

Handle line(Words words) { return {H5Screate_simple(1, &words, nullptr), &H5Sclose}; }

Handle part_of(Words words, Words begin, Words count) {
  Handle space = line(words);
  if (space) H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
  return space;
}

}  // namespace forebay::bench::checkpoint::hdf5
