// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/run_files.hpp"

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

/// Agents of the previous run may still remove files that they created ahead of need: listed files
/// may be gone, and new ones may appear.
constexpr int kAttemptsMax = 100;
constexpr std::uint64_t kStatBlockBytes = 512;  // of st_blocks, on all file systems
constexpr std::size_t kSyncThreadsMax = 16;
constexpr auto kRetryInterval = std::chrono::milliseconds(5);

Status io_failure(const char* operation, const fs::path& path, int error_number) {
  return failure(system_error({.operation = operation, .path = path.string()}, error_number));
}

Status sync_one(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // A file that was created ahead of need and removed since has no data to lose.
  if (!file) return errno == ENOENT ? Status() : io_failure("open to sync", path, errno);
  return ::fsync(file.get()) == 0 ? Status() : io_failure("sync", path, errno);
}

Result<std::vector<fs::path>> paths_below(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> paths;
  fs::recursive_directory_iterator entry(directory, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error))
    paths.push_back(entry->path());
  if (error) return failure(io_failure("list", directory, error.value()).error());
  return paths;
}

}  // namespace

Result<std::vector<fs::path>> paths_to_sync(const fs::path& directory) {
  auto paths = paths_below(directory);
  if (!paths) return paths;
  std::erase_if(*paths, [](const fs::path& path) {
    return !fs::is_regular_file(path) && !fs::is_directory(path);
  });
  paths->push_back(directory);
  return paths;
}

Status sync_each(const std::vector<fs::path>& paths) {
  std::vector<Status> outcomes(paths.size());
  std::atomic<std::size_t> next = 0;
  const auto sync_paths = [&] {
    for (std::size_t index = next++; index < paths.size(); index = next++)
      outcomes[index] = sync_one(paths[index]);
  };
  {
    std::vector<std::jthread> threads;  // joined at the end of the scope
    while (threads.size() + 1 < std::min(paths.size(), kSyncThreadsMax))
      threads.emplace_back(sync_paths);
    sync_paths();
  }
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                   [](const Status& outcome) { return !outcome; });
  return failed == outcomes.end() ? Status() : *failed;
}

Status sync_all(const fs::path& directory) {
  const auto paths = paths_to_sync(directory);
  return paths ? sync_each(*paths) : Status(failure(paths.error()));
}

Result<std::vector<fs::path>> files_below(const fs::path& directory) {
  auto paths = paths_below(directory);
  if (paths) std::erase_if(*paths, [](const fs::path& path) { return !fs::is_regular_file(path); });
  return paths;
}

Status check_sizes(const fs::path& directory, std::uint64_t payload_bytes) {
  const auto files = files_below(directory);
  if (!files) return failure(files.error());
  std::uint64_t size_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  for (const fs::path& path : *files) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) continue;  // created ahead of need, and removed since
    size_bytes += static_cast<std::uint64_t>(status.st_size);
    allocated_bytes += static_cast<std::uint64_t>(status.st_blocks) * kStatBlockBytes;
  }
  if (size_bytes >= payload_bytes && allocated_bytes >= payload_bytes) return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "check the files",
                  .path = directory.string(),
                  .cause = "of " + std::to_string(payload_bytes) + " bytes, files have " +
                           std::to_string(size_bytes) + ", the disk has " +
                           std::to_string(allocated_bytes)});
}

std::uint64_t count_files(const fs::path& directory) {
  const auto files = files_below(directory);
  return files ? files->size() : 0;
}

Status drop_all(const fs::path& directory) {
  const auto files = files_below(directory);
  if (!files) return failure(files.error());
  for (const fs::path& path : *files)
    if (auto done = probe::drop_cached(path); !done) return done;
  return {};
}

Status make_empty(const fs::path& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  for (int attempt = 1; error && attempt < kAttemptsMax; ++attempt) {
    std::this_thread::sleep_for(kRetryInterval);
    fs::remove_all(directory, error);
  }
  if (!error) fs::create_directories(directory, error);
  return error ? io_failure("create", directory, error.value()) : Status();
}

Status make_empty_on_storage(const fs::path& directory) {
  if (auto created = make_empty(directory); !created) return created;
  if (auto synced = sync_all(directory); !synced) return synced;
  return sync_one(directory.parent_path());
}

}  // namespace forebay::bench::checkpoint
