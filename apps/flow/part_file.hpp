// SPDX-License-Identifier: Apache-2.0
// The file of one part of one step: arrays one behind the other, each with a fingerprint that also
// covers step, part and name, so that no other file's bytes can pass for it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <map>
#include <string>

#include "flow/part_store.hpp"

namespace forebay::flow {

struct PartFile {
  std::string path;
  std::uint64_t step = 0;
  std::uint32_t part = 0;
};

inline constexpr std::size_t kArrayNameBytesMax = 32;

/// Makes the file durable under its name, all of it or nothing.
Status write_part_file(const PartFile& file, const std::map<std::string, StoredArray>& arrays);

/// One array. kNotFound if it is not there; kDamage, with the offset, if it is not what was
/// written.
Result<StoredArray> read_part_file(const PartFile& file, const std::string& name);

}  // namespace forebay::flow
