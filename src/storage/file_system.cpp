// SPDX-License-Identifier: Apache-2.0
// File system and direct access of an open file, from fstatfs(2) and statx(2).
#include "storage/file_system.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace forebay::storage {

namespace {

struct Magic {
  unsigned long number;
  FileSystem kind;
};

// Not in linux/magic.h, or not everywhere: from headers of the drivers of the kernel and of
// vendors.
constexpr unsigned long kXfsMagic = 0x58465342;
constexpr unsigned long kLustreMagic = 0x0BD00BD0;
constexpr unsigned long kGpfsMagic = 0x47504653;
constexpr unsigned long kBeegfsMagic = 0x19830326;
constexpr unsigned long kCephMagic = 0x00C36400;
constexpr unsigned long kPanfsMagic = 0xAAD7AAEA;
constexpr unsigned long kWekafsMagic = 0x18031977;
constexpr unsigned long kOrangefsMagic = 0x20030528;
constexpr unsigned long kSmb2Magic = 0xFE534D42;
constexpr unsigned long kCifsMagic = 0xFF534D42;
constexpr std::array<Magic, 19> kMagics{{{EXT4_SUPER_MAGIC, FileSystem::kExt},
                                         {kXfsMagic, FileSystem::kXfs},
                                         {BTRFS_SUPER_MAGIC, FileSystem::kBtrfs},
                                         {TMPFS_MAGIC, FileSystem::kTmpfs},
                                         {RAMFS_MAGIC, FileSystem::kTmpfs},
                                         {NFS_SUPER_MAGIC, FileSystem::kNfs},
                                         {FUSE_SUPER_MAGIC, FileSystem::kFuse},
                                         {kLustreMagic, FileSystem::kLustre},
                                         {kGpfsMagic, FileSystem::kCluster},
                                         {kBeegfsMagic, FileSystem::kCluster},
                                         {kCephMagic, FileSystem::kCluster},
                                         {kPanfsMagic, FileSystem::kCluster},
                                         {kWekafsMagic, FileSystem::kCluster},
                                         {kOrangefsMagic, FileSystem::kCluster},
                                         {kSmb2Magic, FileSystem::kCluster},
                                         {kCifsMagic, FileSystem::kCluster},
                                         {AFS_SUPER_MAGIC, FileSystem::kCluster},
                                         {V9FS_MAGIC, FileSystem::kCluster},
                                         {OVERLAYFS_SUPER_MAGIC, FileSystem::kOverlay}}};

}  // namespace

std::string_view name_of(FileSystem kind) noexcept {
  switch (kind) {
    case FileSystem::kExt:
      return "ext";
    case FileSystem::kXfs:
      return "xfs";
    case FileSystem::kBtrfs:
      return "btrfs";
    case FileSystem::kTmpfs:
      return "tmpfs";
    case FileSystem::kNfs:
      return "nfs";
    case FileSystem::kFuse:
      return "fuse";
    case FileSystem::kLustre:
      return "lustre";
    case FileSystem::kCluster:
      return "cluster";
    case FileSystem::kOverlay:
      return "overlay";
    case FileSystem::kMemory:
      return "memory";
    case FileSystem::kOther:
      return "other";
  }
  return "unknown";
}

FileSystem file_system_of(int descriptor) noexcept {
  struct statfs found{};
  if (::fstatfs(descriptor, &found) != 0) return FileSystem::kOther;
  const auto number = static_cast<unsigned long>(found.f_type);
  const auto* const magic = std::ranges::find(kMagics, number, &Magic::number);
  return magic == kMagics.end() ? FileSystem::kOther : magic->kind;
}

FileIdentity identity_of(const File& file) noexcept {
  return file.identity().value_or(FileIdentity{0, reinterpret_cast<std::uintptr_t>(&file)});
}

std::optional<ServerAttributes> fetch_server_attributes(int descriptor) noexcept {
  struct statx found{};
  constexpr unsigned kWanted = STATX_SIZE | STATX_MODE;
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, kWanted, &found) != 0) return {};
  return ServerAttributes{
      found.stx_size,
      (found.stx_mask & STATX_MODE) != 0 && (found.stx_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0};
}

std::optional<std::size_t> direct_alignment_of(int descriptor) noexcept {
  // tmpfs accepts O_DIRECT since Linux 6.6, and copies anyway.
  if (file_system_of(descriptor) == FileSystem::kTmpfs) return std::nullopt;
  struct statx found{};
  const int failed = ::statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found);
  if (failed != 0 || (found.stx_mask & STATX_DIOALIGN) == 0) return kDirectAlignmentBytesDefault;
  const std::size_t needed = std::max(found.stx_dio_mem_align, found.stx_dio_offset_align);
  if (found.stx_dio_offset_align == 0) return std::nullopt;
  return std::bit_ceil(needed);
}

}  // namespace forebay::storage
