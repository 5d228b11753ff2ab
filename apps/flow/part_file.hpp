// SPDX-License-Identifier: Apache-2.0
// The file of one part of one step: its arrays, in sequence. Each has a fingerprint that covers
// step, part and name too, so bytes of another file are not accepted.
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

/// Makes the complete file durable under its name, or nothing.
Status write_part_file(const PartFile& file, const std::map<std::string, StoredArray>& arrays);

/// Reads one array. kNotFound if the file has no such array; kDamage, with the offset, if its bytes
/// are not those written.
Result<StoredArray> read_part_file(const PartFile& file, const std::string& name);

}  // namespace forebay::flow
