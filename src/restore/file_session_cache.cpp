// SPDX-License-Identifier: Apache-2.0
#include "restore/file_session_cache.hpp"

#include <algorithm>
#include <utility>

namespace forebay::restore {

namespace {

/// Sessions kept while idle: their windows together stay below half of a Runtime's memory.
constexpr std::size_t cached_max(WindowSize window_size) noexcept {
  return window_size == WindowSize::kLarge ? 2 : 16;
}
/// Quarters of the window that requests may reserve; the rest is for bytes being taken.
constexpr std::uint64_t kReservedQuarters = 3;
/// Time to wait for files that closed sessions have not released yet.
constexpr std::chrono::seconds kOpenTimeout{5};

}  // namespace

FileSession::FileSession(std::string path,
                         std::shared_ptr<read::SessionCore> core,
                         WindowSize window_size)
    : path_(std::move(path)),
      core_(std::move(core)),
      window_size_(window_size),
      reserved_bytes_max_(core_->plan().tuning.window_bytes / 4 * kReservedQuarters) {}

/// The extents of the steps of a file differ.
bool FileSession::can_serve(const format::StepFile& file, WindowSize window_size) const noexcept {
  return path_ == file.path && core_->geometry().extent().size == file.entry.index.offset &&
         (window_size_ == WindowSize::kLarge || window_size == WindowSize::kSmall);
}

bool FileSession::try_reserve(std::uint64_t bytes) noexcept {
  std::uint64_t reserved = reserved_bytes_.load();
  do {
    if (reserved + bytes > reserved_bytes_max_) return false;
  } while (!reserved_bytes_.compare_exchange_weak(reserved, reserved + bytes));
  return true;
}

Result<std::shared_ptr<FileSession>> FileSessionCache::acquire(const format::StepFile& file,
                                                               WindowSize window_size) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_sessions_, [](const auto& session) { return session.expired(); });
  for (const auto& weak : open_sessions_) {
    auto session = weak.lock();
    if (!session || !session->can_serve(file, window_size)) continue;
    cache(session);
    return session;
  }
  auto session = open(file, window_size);
  while (!session && session.error().kind() == ErrorClass::kLimit && evict_idle())
    session = open(file, window_size);
  if (session) {
    open_sessions_.push_back(*session);
    cache(*session);
  }
  return session;
}

/// The data precede the index.
Result<std::shared_ptr<FileSession>> FileSessionCache::open(const format::StepFile& file,
                                                            WindowSize window_size) {
  const auto opened = files_.open(file);
  if (!opened) return failure(opened.error());
  auto core = open_session_(*opened, {0, file.entry.index.offset}, plan_, window_size);
  if (!core) return failure(core.error());
  return std::make_shared<FileSession>(file.path, std::move(*core), window_size);
}

Result<std::shared_ptr<storage::File>> FileSessionCache::open_without_session(
    const format::StepFile& file) {
  return files_.open_with_timeout(file, kOpenTimeout);
}

void FileSessionCache::cache(const std::shared_ptr<FileSession>& session) {
  const auto found = std::find(cached_.begin(), cached_.end(), session);
  if (found != cached_.end()) {
    std::rotate(found, found + 1, cached_.end());
    return;
  }
  const auto is_alike = [&](const auto& other) {
    return other->window_size() == session->window_size();
  };
  if (std::cmp_equal(std::ranges::count_if(cached_, is_alike), cached_max(session->window_size())))
    cached_.erase(std::ranges::find_if(cached_, is_alike));
  cached_.push_back(session);
}

/// False if all sessions are in use.
bool FileSessionCache::evict_idle() {
  return std::erase_if(cached_, [](const auto& session) { return session.use_count() == 1; }) > 0;
}

}  // namespace forebay::restore
