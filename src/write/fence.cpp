// SPDX-License-Identifier: Apache-2.0
#include "write/fence.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "base/folder_entries.hpp"
#include "format/commits.hpp"
#include "format/file_bytes.hpp"
#include "format/layout.hpp"
#include "storage/file.hpp"

namespace forebay::write {

namespace {

using FilePointer = std::unique_ptr<storage::File>;

/// Whoever is kept out publishes once at most after that, and whoever has the lease keeps out all.
constexpr int kRoundsMax = 16;
constexpr std::uint64_t kCopiedAtOnce = 1_MiB;

/// Each publication changes one of them, and is complete when it has.
Result<std::vector<std::byte>> slots_of(storage::File& file) {
  const auto bytes = file.size();
  if (!bytes) return failure(bytes.error());
  return format::read_range(file, {0, std::min(*bytes, format::kSlotsBytes)});
}

Status copy_bytes(storage::File& from, storage::File& to) {
  const auto bytes = from.size();
  if (!bytes) return failure(bytes.error());
  for (std::uint64_t done = 0; done < *bytes; done += kCopiedAtOnce) {
    const auto piece = format::read_range(from, {done, std::min(kCopiedAtOnce, *bytes - done)});
    if (!piece) return failure(piece.error());
    if (const auto written = to.write_at(*piece, done); !written) return failure(written.error());
  }
  return to.sync();
}

/// A group that shares a dataset goes on to share it.
void copy_mode(const std::string& from, const std::string& to) {
  struct stat facts{};
  if (::stat(from.c_str(), &facts) == 0) std::ignore = ::chmod(to.c_str(), facts.st_mode & 07777U);
}

/// Makes the copy; it takes the place of the file at `path`.
Status replace(storage::File& current, const std::string& path) {
  const std::string new_path = path + ".new";
  if (const Status removed = remove_entry(new_path); !removed) return removed;
  const auto copy = storage::open_file(new_path, {.intent = storage::Intent::kCreateNew});
  if (!copy) return failure(copy.error());
  Status done = copy_bytes(current, **copy);
  copy_mode(path, new_path);
  if (done && std::rename(new_path.c_str(), path.c_str()) != 0)
    done = failure(system_error({.operation = "replace", .path = path}, errno));
  if (!done) std::ignore = remove_entry(new_path);
  return done;
}

}  // namespace

Status fence_commits(const std::string& folder) {
  const std::string path = folder + "/" + std::string(format::kCommitsName);
  const auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
  if (!file) return file.error().kind() == ErrorClass::kNotFound ? Status() : failure(file.error());
  // What is published into the former file while it is copied may be missing in the copy: as long
  // as there is such, it is copied once more.
  auto before = slots_of(**file);
  for (int round = 0; round < kRoundsMax; ++round) {
    if (!before) return failure(before.error());
    if (const Status replaced = replace(**file, path); !replaced) return replaced;
    auto after = slots_of(**file);
    if (after && *after == *before) return sync_entries(folder);
    before = std::move(after);
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open for writing",
                  .path = path,
                  .cause = "somebody else goes on to write it"});
}

}  // namespace forebay::write
