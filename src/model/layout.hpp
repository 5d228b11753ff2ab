// SPDX-License-Identifier: Apache-2.0
// Which server stores which bytes of a file, and which metadata server has a name. Pure functions.
// emufs, the model and plans share them, so that all split a file the same way.
#pragma once

#include <forebay/range.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace forebay::model {

/// Striping of one file: stripe k is on server (first_server + k mod stripe_count) mod servers.
struct Layout {
  std::uint64_t stripe_bytes = 1_MiB;  ///< a power of two
  std::uint32_t stripe_count = 1;      ///< at least 1
  std::uint32_t first_server = 0;

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout of the machine's `file_index`-th new file, counted from 0. If layouts rotate, each
/// file begins one server after the preceding one.
Layout layout_of_new_file(const Machine& machine, std::uint64_t file_index);

/// The server that stores byte `offset` of a file.
std::uint32_t server_of(const Layout& layout, std::uint64_t offset, std::uint32_t server_count);

/// Offset of byte `offset` in its object, the bytes of the file on one server.
std::uint64_t object_offset_of(const Layout& layout, std::uint64_t offset);

/// The range of a file from the first to the last byte of `range` in an object. The object has the
/// stripes `column`, `column` + stripe_count, …. `range` is not empty. If `range` begins or ends
/// where the object does, so does the result with the file.
ByteRange file_range_of(const Layout& layout, std::uint32_t column, ByteRange range);

/// Bytes on one server, requested at once.
struct ServerRange {
  std::uint32_t server = 0;
  ByteRange range;

  friend bool operator==(const ServerRange&, const ServerRange&) = default;
};

struct SplitLimits {
  std::uint32_t server_count = 1;
  std::uint64_t request_bytes_max = 1_MiB;
};

/// The parts of `range`, ascending and without gaps. A new part begins wherever the next byte is on
/// another server, and within these every request_bytes_max. An empty range has no parts.
std::vector<ServerRange> split_by_server(const Layout& layout, ByteRange range, SplitLimits limits);

/// A hash that selects the metadata server of a name. `directory` is any constant number of the
/// directory, such as its inode. `name` is used only if names are spread by file. The same on all
/// machines.
std::uint64_t name_hash(NameSpread spread, std::uint64_t directory, std::string_view name);

/// The server, below servers.servers, of a name with this hash.
std::uint32_t metadata_server_of(std::uint64_t hash, const MetadataServers& servers);

}  // namespace forebay::model
