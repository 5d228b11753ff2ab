// SPDX-License-Identifier: Apache-2.0
// Which server holds which bytes of a file, and which metadata server a name belongs to. Pure
// functions that emufs, the model and plans share, so that all of them cut a file alike.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace forebay::model {

/// How one file is cut: stripe k lies on server (first_server + k mod stripe_count) mod servers.
struct Layout {
  std::uint64_t stripe_bytes = 1_MiB;  ///< a power of two
  std::uint32_t stripe_count = 1;      ///< at least 1
  std::uint32_t first_server = 0;

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout of the machine's `file_index`-th new file (counted from 0): where layouts rotate, it
/// begins one server further than the last.
Layout layout_of_new_file(const Machine& machine, std::uint64_t file_index);

/// The server that holds byte `offset` of a file.
std::uint32_t server_of(const Layout& layout, std::uint64_t offset, std::uint32_t server_count);

/// Where byte `offset` of a file lies in its server's share of it, the object: counted without what
/// others hold.
std::uint64_t object_offset_of(const Layout& layout, std::uint64_t offset);

/// The bytes of a file between the first and the last byte of a range, which is not empty, of the
/// object with its stripes number `column`, `column` + stripe_count, …; from the beginning of the
/// file, or to its end, where the range begins or ends as the object does.
ByteRange file_range_of(const Layout& layout, std::uint32_t column, ByteRange range);

/// Bytes that one server holds, asked for at once.
struct Part {
  std::uint32_t server = 0;
  ByteRange range;

  friend bool operator==(const Part&, const Part&) = default;
};

struct CutLimits {
  std::uint32_t server_count = 1;
  std::uint64_t request_bytes_max = 1_MiB;
};

/// The parts of `range`, ascending and without gaps: cut wherever the next byte lies on another
/// server, and what is left, from its beginning, every request_bytes_max. No part for no bytes.
std::vector<Part> cut(const Layout& layout, ByteRange range, CutLimits limits);

/// A number that decides which metadata server a name belongs to. `folder` is any number that
/// stays with the folder (its inode); `name` counts only where names are spread by file. The same
/// on every machine.
std::uint64_t name_hash(NameSpread spread, std::uint64_t folder, std::string_view name);

/// The server, below servers.servers, of a name with this hash.
std::uint32_t metadata_server_of(std::uint64_t hash, const MetadataServers& servers);

}  // namespace forebay::model
