// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/stored.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Agents of the run before may still take away what they made ahead of need: what was listed is
/// not there any more, or something has come.
constexpr int kTriesMax = 100;
constexpr std::uint64_t kRoomUnitBytes = 512;  // of st_blocks, on all file systems
constexpr std::size_t kSyncsAtOnce = 16;
constexpr auto kRestBetweenLooks = std::chrono::milliseconds(5);

Status problem(const char* operation, const fs::path& path, int error_number) {
  return failure(system_error({.operation = operation, .path = path.string()}, error_number));
}

Status sync_one(const fs::path& path) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // What a contender made ahead of need and has taken away by now has nothing to lose.
  if (!opened) return errno == ENOENT ? Status() : problem("open to sync", path, errno);
  return ::fsync(opened.get()) == 0 ? Status() : problem("sync", path, errno);
}

Result<std::vector<fs::path>> below(const fs::path& folder) {
  std::error_code trouble;
  std::vector<fs::path> paths;
  fs::recursive_directory_iterator entry(folder, trouble);
  for (const fs::recursive_directory_iterator end; !trouble && entry != end;
       entry.increment(trouble))
    paths.push_back(entry->path());
  if (trouble) return failure(problem("list", folder, trouble.value()).error());
  return paths;
}

}  // namespace

Result<std::vector<fs::path>> paths_to_sync(const fs::path& folder) {
  auto paths = below(folder);
  if (!paths) return paths;
  std::erase_if(*paths, [](const fs::path& path) {
    return !fs::is_regular_file(path) && !fs::is_directory(path);
  });
  paths->push_back(folder);
  return paths;
}

Status sync_each(const std::vector<fs::path>& paths) {
  std::vector<Status> outcomes(paths.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t mine = next++; mine < paths.size(); mine = next++)
      outcomes[mine] = sync_one(paths[mine]);
  };
  {
    std::vector<std::jthread> helpers;  // which are waited for
    while (helpers.size() + 1 < std::min(paths.size(), kSyncsAtOnce))
      helpers.emplace_back(work);
    work();
  }
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                   [](const Status& outcome) { return !outcome; });
  return failed == outcomes.end() ? Status() : *failed;
}

Status sync_all(const fs::path& folder) {
  const auto paths = paths_to_sync(folder);
  return paths ? sync_each(*paths) : Status(failure(paths.error()));
}

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
  auto paths = below(folder);
  if (paths) std::erase_if(*paths, [](const fs::path& path) { return !fs::is_regular_file(path); });
  return paths;
}

Status check_sizes(const fs::path& folder, std::uint64_t payload_bytes) {
  const auto files = files_below(folder);
  if (!files) return failure(files.error());
  std::uint64_t size_bytes = 0;
  std::uint64_t room_bytes = 0;
  for (const fs::path& path : *files) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) continue;  // made ahead of need, and taken away by now
    size_bytes += static_cast<std::uint64_t>(status.st_size);
    room_bytes += static_cast<std::uint64_t>(status.st_blocks) * kRoomUnitBytes;
  }
  if (size_bytes >= payload_bytes && room_bytes >= payload_bytes) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "look for what was written",
                  .path = folder.string(),
                  .cause = "of " + std::to_string(payload_bytes) + " bytes files have " +
                           std::to_string(size_bytes) + ", the disk " +
                           std::to_string(room_bytes)});
}

std::uint64_t count_files(const fs::path& folder) {
  const auto files = files_below(folder);
  return files ? files->size() : 0;
}

Status drop_all(const fs::path& folder) {
  const auto files = files_below(folder);
  if (!files) return failure(files.error());
  for (const fs::path& path : *files)
    if (auto done = probe::drop_cached(path); !done) return done;
  return {};
}

Status make_empty(const fs::path& folder) {
  std::error_code trouble;
  fs::remove_all(folder, trouble);
  for (int tries = 1; trouble && tries < kTriesMax; ++tries) {
    std::this_thread::sleep_for(kRestBetweenLooks);
    fs::remove_all(folder, trouble);
  }
  if (!trouble) fs::create_directories(folder, trouble);
  return trouble ? problem("make", folder, trouble.value()) : Status();
}

Status make_empty_on_storage(const fs::path& folder) {
  if (auto made = make_empty(folder); !made) return made;
  if (auto synced = sync_all(folder); !synced) return synced;
  return sync_one(folder.parent_path());
}

}  // namespace forebay::bench::checkpoint
