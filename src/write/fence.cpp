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

#include "base/folder_entries.hpp"
#include "format/commits.hpp"
#include "format/layout.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "write/aligned_bytes.hpp"

namespace forebay::write {

namespace {

/// Whoever is kept out publishes once at most after that, and whoever has the lease keeps out all.
constexpr int kRoundsMax = 16;
constexpr std::uint64_t kCopiedAtOnce = 1_MiB;
constexpr mode_t kWriteRights = S_IWUSR | S_IWGRP | S_IWOTH;

/// The replaced `commits`, which another client may still write. On remote file systems it is read
/// with O_DIRECT, because this client's page cache may be stale.
class FormerFile {
 public:
  static Result<FormerFile> open(const std::string& path) {
    auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
    if (!file) return failure(file.error());
    FormerFile former(std::move(*file));
    if (!storage::is_remote(former.file_->file_system())) return former;
    auto direct = storage::reopen(*former.file_, {.access = Access::kDirect});
    if (direct) former.direct_ = std::move(*direct);
    // Without O_DIRECT only a coherent file system is safe (docs/formats/dataset.md).
    if (direct || direct.error().kind() == ErrorClass::kUnsupported) return former;
    return failure(direct.error());
  }

  /// Each publication changes one of them, and is complete when it has.
  Result<std::vector<std::byte>> slots() { return read({0, format::kSlotsBytes}); }

  Status copy_to(storage::File& to) {
    const auto facts = storage::server_facts_of(file_->descriptor());
    if (!facts) return failure(system_error({.operation = "stat", .path = file_->path()}, errno));
    for (std::uint64_t done = 0; done < facts->size_bytes; done += kCopiedAtOnce) {
      const auto piece =
          read({done, std::min<std::uint64_t>(kCopiedAtOnce, facts->size_bytes - done)});
      if (!piece) return failure(piece.error());
      if (const auto written = to.write_at(*piece, done); !written) return failure(written.error());
    }
    return {};
  }

  /// Clears the write bits that is_fenced() reads. Fails silently for files of another owner.
  void mark() {
    struct stat facts{};
    if (::fstat(file_->descriptor(), &facts) != 0) return;
    std::ignore = ::fchmod(file_->descriptor(), facts.st_mode & 07777U & ~kWriteRights);
  }

 private:
  explicit FormerFile(std::unique_ptr<storage::File> file) : file_(std::move(file)) {}

  /// Fewer bytes if it ends there.
  Result<std::vector<std::byte>> read(ByteRange range) {
    AlignedBytes memory(range.size);
    storage::File& from = direct_ ? *direct_ : *file_;
    const auto got = from.read_at(memory.writable(), range.offset);
    if (!got) return failure(got.error());
    const auto bytes = memory.bytes().first(std::min<std::size_t>(*got, range.size));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  std::unique_ptr<storage::File> file_;
  std::unique_ptr<storage::File> direct_;
};

/// Makes the copy; it takes the place of the file at `path`.
Status replace(FormerFile& former, const std::string& path) {
  auto made = TemporaryFile::create_beside(path);
  if (!made) return failure(made.error());
  const auto copy = storage::open_descriptor(made->descriptor(), made->path(),
                                             {.intent = storage::Intent::kWrite});
  if (!copy) return failure(copy.error());
  if (Status copied = former.copy_to(**copy); !copied) return copied;
  return made->publish();
}

/// Removes copies that killed writers left behind.
void remove_copies(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(std::string(format::kCommitsName) + ".tmp-"))
      std::ignore = remove_entry(entry.path().string());
}

}  // namespace

Status fence_commits(const std::string& folder) {
  const std::string path = folder + "/" + std::string(format::kCommitsName);
  auto former = FormerFile::open(path);
  if (!former)
    return former.error().kind() == ErrorClass::kNotFound ? Status() : failure(former.error());
  remove_copies(folder);
  // What is published into the former file while it is copied may be missing in the copy: as long
  // as there is such, it is copied once more.
  auto before = former->slots();
  for (int round = 0; round < kRoundsMax; ++round) {
    if (!before) return failure(before.error());
    if (const Status replaced = replace(*former, path); !replaced) return replaced;
    former->mark();
    auto after = former->slots();
    if (after && *after == *before) return {};
    before = std::move(after);
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open for writing",
                  .path = path,
                  .cause = "somebody else goes on to write it"});
}

bool is_fenced(const storage::File& commits) {
  if (!storage::is_remote(commits.file_system())) return false;
  const auto facts = storage::server_facts_of(commits.descriptor());
  return facts && !facts->has_write_right;
}

}  // namespace forebay::write
