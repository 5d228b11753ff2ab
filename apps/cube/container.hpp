// SPDX-License-Identifier: Apache-2.0
// What a tar archive holds and where, and what had to be overlooked to read it.
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

#include "cube/byte_source.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

inline constexpr std::string_view kAnchorName = "anchor.xml";
inline constexpr std::string_view kSpecificationName = "remapping.spec";
/// What we put behind members whose size is a multiple of a block.
inline constexpr std::string_view kPaddingName = "padding";
inline constexpr std::size_t kMembersMax = 65536;

std::string data_name(std::uint32_t metric_id);
std::string index_name(std::uint32_t metric_id);

struct Member {
  std::string name;
  std::uint64_t header_offset = 0;
  ByteRange bytes;
};

/// Something that is not as it should be and does no harm.
struct Remark {
  std::uint64_t offset = 0;
  std::string text;
};

struct Container {
  std::vector<Member> members;  ///< ordinary files, in the order of the archive
  std::vector<Remark> remarks;
  /// Where the first member of each name is in `members`.
  std::map<std::string, std::size_t, std::less<>> places;

  /// Null if there is none.
  const Member* find(std::string_view name) const;
};

/// Goes from header to header. Fails as the page says under "What a reader does with damage".
Result<Container> read_container(const ByteSource& source);

}  // namespace forebay::cube
