// SPDX-License-Identifier: Apache-2.0
#include "write/fence.hpp"

#include <forebay/temporary_file.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "base/directory_entries.hpp"
#include "format/commits.hpp"
#include "format/layout.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "write/aligned_bytes.hpp"

namespace forebay::write {

namespace {

/// Rounds of the copy. Few suffice: each excluded holder publishes at most once more, and the lease
/// excludes new holders.
constexpr int kRetriesMax = 16;
constexpr std::uint64_t kCopyBytes = 1_MiB;
constexpr mode_t kWritePermissions = S_IWUSR | S_IWGRP | S_IWOTH;

/// The replaced `commits`, which another client may still write. On remote file systems it is read
/// with O_DIRECT, because this client's page cache may be stale.
class ReplacedCommits {
 public:
  static Result<ReplacedCommits> open(const std::string& path) {
    auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
    if (!file) return failure(file.error());
    ReplacedCommits old_commits(std::move(*file));
    if (!storage::is_remote(old_commits.file_->file_system())) return old_commits;
    auto direct = storage::reopen(*old_commits.file_, {.access = Access::kDirect});
    if (direct) old_commits.direct_ = std::move(*direct);
    // Without O_DIRECT only a coherent file system is safe (docs/formats/dataset.md).
    if (direct || direct.error().kind() == ErrorClass::kUnsupported) return old_commits;
    return failure(direct.error());
  }

  /// Each publication changes one of the slots as its last write.
  Result<std::vector<std::byte>> slots() { return read({0, format::kSlotsBytes}); }

  Status copy_to(storage::File& to) {
    const auto facts = storage::fetch_server_attributes(file_->descriptor());
    if (!facts) return failure(system_error({.operation = "stat", .path = file_->path()}, errno));
    for (std::uint64_t done = 0; done < facts->size_bytes; done += kCopyBytes) {
      const auto piece =
          read({done, std::min<std::uint64_t>(kCopyBytes, facts->size_bytes - done)});
      if (!piece) return failure(piece.error());
      if (const auto written = to.write_at(*piece, done); !written) return failure(written.error());
    }
    return {};
  }

  /// Clears the write bits that is_fenced() reads. Fails silently for files of another owner.
  void clear_write_permissions() {
    struct stat facts{};
    if (::fstat(file_->descriptor(), &facts) != 0) return;
    std::ignore = ::fchmod(file_->descriptor(), facts.st_mode & 07777U & ~kWritePermissions);
  }

 private:
  explicit ReplacedCommits(std::unique_ptr<storage::File> file) : file_(std::move(file)) {}

  /// Returns fewer bytes if the file ends in `range`.
  Result<std::vector<std::byte>> read(ByteRange range) {
    AlignedBytes memory(range.size);
    storage::File& from = direct_ ? *direct_ : *file_;
    const auto got = from.read_at(memory.mutable_bytes(), range.offset);
    if (!got) return failure(got.error());
    const auto bytes = memory.bytes().first(std::min<std::size_t>(*got, range.size));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  std::unique_ptr<storage::File> file_;
  std::unique_ptr<storage::File> direct_;
};

/// Creates the copy and renames it to `path`.
Status install_copy(ReplacedCommits& old_commits, const std::string& path) {
  auto made = TemporaryFile::create_beside(path);
  if (!made) return failure(made.error());
  const auto copy = storage::open_descriptor(made->descriptor(), made->path(),
                                             {.intent = storage::Intent::kWrite});
  if (!copy) return failure(copy.error());
  if (Status copied = old_commits.copy_to(**copy); !copied) return copied;
  return made->publish();
}

/// Removes copies that killed holders left behind.
void remove_temporary_copies(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (entry.path().filename().string().starts_with(std::string(format::kCommitsName) + ".tmp-"))
      std::ignore = unlink_if_exists(entry.path().string());
}

}  // namespace

Status fence_writers(const std::string& directory) {
  const std::string path = directory + "/" + std::string(format::kCommitsName);
  auto old_commits = ReplacedCommits::open(path);
  if (!old_commits)
    return old_commits.error().kind() == ErrorClass::kNotFound ? Status()
                                                               : failure(old_commits.error());
  remove_temporary_copies(directory);
  // A step that is published into the former file during the copy may be missing in the copy. So
  // the copy is repeated while the slots change.
  auto before = old_commits->slots();
  for (int round = 0; round < kRetriesMax; ++round) {
    if (!before) return failure(before.error());
    if (const Status replaced = install_copy(*old_commits, path); !replaced) return replaced;
    old_commits->clear_write_permissions();
    auto after = old_commits->slots();
    if (after && *after == *before) return {};
    before = std::move(after);
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open for writing",
                  .path = path,
                  .cause = "another program still writes it; end that program"});
}

bool is_fenced(const storage::File& commits) {
  if (!storage::is_remote(commits.file_system())) return false;
  const auto facts = storage::fetch_server_attributes(commits.descriptor());
  return facts && !facts->has_write_permission;
}

}  // namespace forebay::write
