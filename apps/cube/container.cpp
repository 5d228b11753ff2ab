// SPDX-License-Identifier: Apache-2.0
#include "cube/container.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cube/tar_extension.hpp"

namespace forebay::cube {

namespace {

/// Goes through an archive block by block.
class Walk {
 public:
  explicit Walk(const ByteSource& source) : source_(source) {}

  Result<Container> run() {
    if (const Status begun = refuse_gzip(); !begun) return failure(begun.error());
    while (!ended_) {
      if (const Status stepped = step(); !stepped) return failure(stepped.error());
    }
    return std::move(container_);
  }

 private:
  Status refuse_gzip() const {
    TarBlock block{};
    if (source_.size_bytes() < block.size()) return {};
    if (const Status read = source_.read(0, block); !read) return read;
    if (block[0] != std::byte{0x1f} || block[1] != std::byte{0x8b}) return {};
    return fail(ErrorClass::kUnsupported, 0,
                "the file is compressed as a whole; unpack it with gunzip first");
  }

  Status step() {
    if (source_.size_bytes() - offset_ < kTarBlockBytes) return end_early();
    TarBlock block{};
    if (const Status read = source_.read(offset_, block); !read) return read;
    if (is_zero(block)) return pass_zeros();
    const Result<TarHeader> header = decode_tar_header(block);
    if (!header) return failure(inside(header.error(), source_.path(), offset_));
    return take(*header);
  }

  /// One block of zeros is CubeLib's way to fill a member, two are the end.
  Status pass_zeros() {
    const std::uint64_t next = offset_ + kTarBlockBytes;
    if (source_.size_bytes() - next < kTarBlockBytes) return end_early();
    TarBlock block{};
    if (const Status read = source_.read(next, block); !read) return read;
    if (is_zero(block)) {
      ended_ = true;
      return {};
    }
    remark(offset_, "a block of zeros between members, as CubeLib writes it");
    offset_ = next;
    return {};
  }

  Status end_early() {
    if (container_.members.empty()) {
      return fail(ErrorClass::kDamage, offset_, "the archive ends before its first member");
    }
    remark(offset_, "the archive has no end of two blocks of zeros");
    ended_ = true;
    return {};
  }

  Status take(TarHeader header) {
    if (!is_tar_extension(header.kind)) next_.apply_to(header);
    const std::uint64_t begin = offset_ + kTarBlockBytes;
    const std::uint64_t left = source_.size_bytes() - begin;
    if (header.size_bytes > left) {
      return fail(
          ErrorClass::kShortFile, source_.size_bytes(),
          fmt::format("{} bytes of member {} are missing", header.size_bytes - left, header.name));
    }
    if (!header.checksum_is_right) {
      remark(offset_, fmt::format("the header of {} has a wrong checksum", header.name));
    }
    const Status taken = is_tar_extension(header.kind) ? extend(header, begin)
                         : header.is_file()            ? add(header, begin)
                                                       : Status();
    if (!taken) return taken;
    if (!is_tar_extension(header.kind)) next_ = {};
    // The last member need not be filled up.
    offset_ = begin + std::min(in_blocks(header.size_bytes), left);
    return {};
  }

  Status extend(const TarHeader& header, std::uint64_t begin) {
    if (header.size_bytes > kTarExtensionBytesMax) {
      return fail(ErrorClass::kDamage, offset_,
                  fmt::format("an extended header of {} bytes", header.size_bytes));
    }
    std::string body(header.size_bytes, '\0');
    if (Status read = source_.read(begin, std::as_writable_bytes(std::span(body))); !read)
      return read;
    const Status added = next_.add(header.kind, body);
    return added ? added : failure(inside(added.error(), source_.path(), offset_));
  }

  Status add(const TarHeader& header, std::uint64_t begin) {
    std::string name = header.name;
    if (name.starts_with("./")) name.erase(0, 2);
    const bool is_new = container_.places.try_emplace(name, container_.members.size()).second;
    if (!is_new && name != kPaddingName) {
      return fail(ErrorClass::kDamage, offset_, fmt::format("there are two members {}", name));
    }
    if (container_.members.size() == kMembersMax) {
      return fail(ErrorClass::kDamage, offset_,
                  fmt::format("there are more than {} members", kMembersMax));
    }
    container_.members.push_back({std::move(name), offset_, {begin, header.size_bytes}});
    return {};
  }

  void remark(std::uint64_t offset, std::string text) {
    container_.remarks.push_back({offset, std::move(text)});
  }

  Status fail(ErrorClass kind, std::uint64_t offset, std::string cause) const {
    return failure({.kind = kind,
                    .operation = "read the archive",
                    .path = source_.path(),
                    .offset_bytes = offset,
                    .cause = std::move(cause)});
  }

  const ByteSource& source_;
  Container container_;
  TarExtension next_;  ///< of the next member that is no extended header
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string data_name(std::uint32_t metric_id) { return fmt::format("{}.data", metric_id); }
std::string index_name(std::uint32_t metric_id) { return fmt::format("{}.index", metric_id); }

const Member* Container::find(std::string_view name) const {
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &members[found->second];
}

Result<Container> read_container(const ByteSource& source) { return Walk(source).run(); }

}  // namespace forebay::cube
