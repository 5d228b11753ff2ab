// SPDX-License-Identifier: Apache-2.0
#include "restore/file_sessions.hpp"

#include <algorithm>
#include <utility>

namespace forebay::restore {

namespace {

/// Kept though nobody may be using them: with their windows they stay below half of a Runtime's
/// memory.
constexpr std::size_t kept_max(Width width) noexcept { return width == Width::kWide ? 2 : 16; }
/// Of the window, this much may be asked for; the rest is for what is being taken.
constexpr std::uint64_t kAskedQuarters = 3;
/// For files that closed sessions have not put down.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

FileSession::FileSession(std::string path, std::shared_ptr<read::SessionCore> core, Width width)
    : path_(std::move(path)),
      core_(std::move(core)),
      width_(width),
      asked_bytes_max_(core_->plan().window_bytes / 4 * kAskedQuarters) {}

/// Extents differ for the steps of a file.
bool FileSession::suits(const format::StepFile& file, Width width) const noexcept {
  return path_ == file.path && core_->geometry().extent().size == file.entry.index.offset &&
         (width_ == Width::kWide || width == Width::kNarrow);
}

bool FileSession::take(std::uint64_t bytes) noexcept {
  std::uint64_t asked = asked_bytes_.load();
  do {
    if (asked + bytes > asked_bytes_max_) return false;
  } while (!asked_bytes_.compare_exchange_weak(asked, asked + bytes));
  return true;
}

Result<std::shared_ptr<FileSession>> FileSessions::of(const format::StepFile& file, Width width) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_sessions_, [](const auto& session) { return session.expired(); });
  for (const auto& weak : open_sessions_) {
    auto session = weak.lock();
    if (!session || !session->suits(file, width)) continue;
    keep(session);
    return session;
  }
  auto session = open(file, width);
  while (!session && session.error().kind() == ErrorClass::kLimit && drop_idle())
    session = open(file, width);
  if (session) {
    open_sessions_.push_back(*session);
    keep(*session);
  }
  return session;
}

/// Data lie in front of the index.
Result<std::shared_ptr<FileSession>> FileSessions::open(const format::StepFile& file, Width width) {
  const auto opened = files_.open(file);
  if (!opened) return failure(opened.error());
  auto core = open_(*opened, {0, file.entry.index.offset}, plan_, width);
  if (!core) return failure(core.error());
  return std::make_shared<FileSession>(file.path, std::move(*core), width);
}

Result<std::shared_ptr<storage::File>> FileSessions::file_without_session(
    const format::StepFile& file) {
  return files_.open_patiently(file, kPatience);
}

void FileSessions::keep(const std::shared_ptr<FileSession>& session) {
  const auto found = std::find(kept_.begin(), kept_.end(), session);
  if (found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return;
  }
  const auto is_alike = [&](const auto& other) { return other->width() == session->width(); };
  if (std::cmp_equal(std::ranges::count_if(kept_, is_alike), kept_max(session->width())))
    kept_.erase(std::ranges::find_if(kept_, is_alike));
  kept_.push_back(session);
}

/// False if all are in use.
bool FileSessions::drop_idle() {
  return std::erase_if(kept_, [](const auto& session) { return session.use_count() == 1; }) > 0;
}

}  // namespace forebay::restore
