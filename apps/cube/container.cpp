// SPDX-License-Identifier: Apache-2.0
#include "cube/container.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cube/tar_extension.hpp"

namespace forebay::cube {

namespace {

/// Reads an archive block by block.
class ArchiveReader {
 public:
  explicit ArchiveReader(const RandomAccessFile& source) : source_(source) {}

  Result<Container> run() {
    if (const Status begun = reject_gzip(); !begun) return failure(begun.error());
    while (!is_finished_) {
      if (const Status stepped = step(); !stepped) return failure(stepped.error());
    }
    return std::move(container_);
  }

 private:
  Status reject_gzip() const {
    TarBlock block{};
    if (source_.size_bytes() < block.size()) return {};
    if (const Status read = source_.read(0, block); !read) return read;
    if (block[0] != std::byte{0x1f} || block[1] != std::byte{0x8b}) return {};
    return fail(ErrorClass::kUnsupported, 0,
                "the file is compressed as a whole; decompress it with gunzip first");
  }

  Status step() {
    if (source_.size_bytes() - offset_ < kTarBlockBytes) return finish_without_trailer();
    TarBlock block{};
    if (const Status read = source_.read(offset_, block); !read) return read;
    if (is_zero(block)) return skip_zero_block();
    const Result<TarHeader> header = decode_tar_header(block);
    if (!header) return failure(rebase_error(header.error(), source_.path(), offset_));
    return process_member(*header);
  }

  /// One block of zeros is CubeLib's padding of a member, two are the end.
  Status skip_zero_block() {
    const std::uint64_t next = offset_ + kTarBlockBytes;
    if (source_.size_bytes() - next < kTarBlockBytes) return finish_without_trailer();
    TarBlock block{};
    if (const Status read = source_.read(next, block); !read) return read;
    if (is_zero(block)) {
      is_finished_ = true;
      return {};
    }
    remark(offset_, "a block of zeros between members, as CubeLib writes it");
    offset_ = next;
    return {};
  }

  Status finish_without_trailer() {
    if (container_.members.empty()) {
      return fail(ErrorClass::kDamage, offset_, "the archive ends before its first member");
    }
    remark(offset_, "the archive has no end of two blocks of zeros");
    is_finished_ = true;
    return {};
  }

  Status process_member(TarHeader header) {
    if (!is_tar_extension(header.typeflag)) next_extension_.apply_to(header);
    const std::uint64_t begin = offset_ + kTarBlockBytes;
    const std::uint64_t left = source_.size_bytes() - begin;
    if (header.size_bytes > left) {
      return fail(
          ErrorClass::kShortFile, source_.size_bytes(),
          fmt::format("{} bytes of member {} are missing", header.size_bytes - left, header.name));
    }
    if (!header.is_checksum_valid) {
      remark(offset_, fmt::format("the header of {} has a wrong checksum", header.name));
    }
    const Status taken = is_tar_extension(header.typeflag) ? read_extension(header, begin)
                         : header.is_file()                ? add(header, begin)
                                                           : Status();
    if (!taken) return taken;
    if (!is_tar_extension(header.typeflag)) next_extension_ = {};
    // The last member may lack its padding.
    offset_ = begin + std::min(round_up_to_block(header.size_bytes), left);
    return {};
  }

  Status read_extension(const TarHeader& header, std::uint64_t begin) {
    if (header.size_bytes > kTarExtensionBytesMax) {
      return fail(ErrorClass::kDamage, offset_,
                  fmt::format("the extended header has {} bytes, at most 1 MiB is supported",
                              header.size_bytes));
    }
    std::string body(header.size_bytes, '\0');
    if (Status read = source_.read(begin, std::as_writable_bytes(std::span(body))); !read)
      return read;
    const Status added = next_extension_.add(header.typeflag, body);
    return added ? added : failure(rebase_error(added.error(), source_.path(), offset_));
  }

  Status add(const TarHeader& header, std::uint64_t begin) {
    std::string name = header.name;
    if (name.starts_with("./")) name.erase(0, 2);
    const bool is_new =
        container_.index_by_name.try_emplace(name, container_.members.size()).second;
    if (!is_new && name != kPaddingName) {
      return fail(ErrorClass::kDamage, offset_, fmt::format("two members are named {}", name));
    }
    if (container_.members.size() == kMembersMax) {
      return fail(ErrorClass::kDamage, offset_, fmt::format("more than {} members", kMembersMax));
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

  const RandomAccessFile& source_;
  Container container_;
  TarExtension next_extension_;  ///< for the next member that is not an extended header
  std::uint64_t offset_ = 0;
  bool is_finished_ = false;
};

}  // namespace

std::string data_name(std::uint32_t metric_id) { return fmt::format("{}.data", metric_id); }
std::string index_name(std::uint32_t metric_id) { return fmt::format("{}.index", metric_id); }

const Member* Container::find(std::string_view name) const {
  const auto found = index_by_name.find(name);
  return found == index_by_name.end() ? nullptr : &members[found->second];
}

Result<Container> read_container(const RandomAccessFile& source) {
  return ArchiveReader(source).run();
}

}  // namespace forebay::cube
