// SPDX-License-Identifier: Apache-2.0
// The members of a tar archive, and the deviations that were tolerated to read it.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cube/random_access_file.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

inline constexpr std::string_view kAnchorName = "anchor.xml";
inline constexpr std::string_view kSpecificationName = "remapping.spec";
/// Member that Forebay writes behind members whose size is a multiple of a block.
inline constexpr std::string_view kPaddingName = "padding";
inline constexpr std::size_t kMembersMax = 65536;

std::string data_name(std::uint32_t metric_id);
std::string index_name(std::uint32_t metric_id);

struct Member {
  std::string name;
  std::uint64_t header_offset = 0;
  ByteRange bytes;
};

/// A harmless deviation from the format.
struct Remark {
  std::uint64_t offset = 0;
  std::string text;
};

struct Container {
  std::vector<Member> members;  ///< regular files, in the order of the archive
  std::vector<Remark> remarks;
  /// For each name, the index of its first member.
  std::map<std::string, std::size_t, std::less<>> index_by_name;

  /// Null if there is no member of that name.
  const Member* find(std::string_view name) const;
};

/// Reads all headers. Fails as docs/formats/cubex.md specifies in "What a reader does with damage".
Result<Container> read_container(const RandomAccessFile& source);

}  // namespace forebay::cube
