// SPDX-License-Identifier: Apache-2.0
// Shared test helpers in addition to those of all applications: a small description, an in-memory
// file, archives and gzip.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include "command/atomic_file.hpp"
#include "command/testing.hpp"
#include "cube/anchor.hpp"
#include "cube/container.hpp"
#include "cube/container_layout.hpp"
#include "cube/random_access_file.hpp"
#include "cube/sink.hpp"

namespace forebay::cube::testing {

using command::testing::read_file;
using command::testing::TempDirectory;
using command::testing::write_file;

/// A RandomAccessFile in memory.
class MemoryFile : public RandomAccessFile {
 public:
  explicit MemoryFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const noexcept override { return path_; }
  std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
      return failure({.kind = ErrorClass::kShortFile, .path = path_, .offset_bytes = offset});
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }

 private:
  std::string path_ = "memory";
  std::vector<std::byte> bytes_;
};

/// A file that is written synchronously by write().
class FileSink : public Sink {
 public:
  explicit FileSink(command::AtomicFile& file) : file_(file) {}
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return file_.write(offset, bytes);
  }

 private:
  command::AtomicFile& file_;
};

/// Two measured metrics (EXCLUSIVE INT16 with id 0, INCLUSIVE DOUBLE with id 20), the call tree
/// a(b(d),c) and four locations.
inline Anchor small_anchor() {
  Anchor anchor;
  anchor.version = "4.4";
  anchor.attributes = {{"Creator", "a test"}};
  anchor.metrics = {{.id = 0,
                     .kind = MetricKind::kExclusive,
                     .type = {ValueKind::kInt16, 1},
                     .unique_name = "visits",
                     .attributes = {}},
                    {.id = 20,
                     .kind = MetricKind::kInclusive,
                     .type = {ValueKind::kDouble, 1},
                     .unique_name = "time",
                     .attributes = {}}};
  for (std::uint32_t i = 0; i < 4; ++i)
    anchor.regions.push_back({.id = 10 + i, .name = std::string(1, "abdc"[i])});
  const std::vector<std::uint32_t> parents{kNone, 0, 1, 0};
  for (std::uint32_t i = 0; i < 4; ++i)
    anchor.call_tree.add({.id = 100 + i, .region = i, .parent = parents[i], .parameters = {}});
  CallTree with_parameter;
  for (const CallPath& path : anchor.call_tree.paths()) {
    CallPath copy = path;
    if (copy.id == 101) {
      copy.module = "a.c";
      copy.line = 7;
    }
    if (copy.id == 102) copy.parameters = {{"numeric", "size", "7"}};
    with_parameter.add(copy);
  }
  anchor.call_tree = with_parameter;
  anchor.nodes = {{0, "machine", "machine", kNone}, {1, "node", "node", 0}};
  anchor.groups = {{.id = 0, .name = "rank 0", .rank = 0, .type = "process", .node = 1}};
  for (std::uint32_t i = 0; i < 4; ++i)
    anchor.locations.push_back({"thread " + std::to_string(i), i, "thread", 0});
  return anchor;
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Name and content of a member.
using NamedContent = std::pair<std::string, std::string>;

inline void write_archive(const std::string& path, const std::vector<NamedContent>& members) {
  ArchiveLayout archive;
  std::string file;
  const auto add = [&](const FileSegment& segment) {
    file.append(reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size());
  };
  for (const auto& [name, content] : members) {
    const MemberLayout member = archive.append(name, content.size());
    add(header_of(member));
    file += content;
    add(padding_of(member));
  }
  add(archive.end());
  write_file(path, bytes_of(file));
}

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string compressed(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);
  compressed.resize(compressed.size() - stream.avail_out);
  deflateEnd(&stream);
  return compressed;
}

}  // namespace forebay::cube::testing
