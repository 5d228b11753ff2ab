// SPDX-License-Identifier: Apache-2.0
#include "runtime/file_series.hpp"

#include <algorithm>
#include <utility>

#include <sys/stat.h>

#include "push/file_series.hpp"

namespace forebay {

std::optional<FileVersion> version_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileVersion{
      .device = found.st_dev,
      .inode = found.st_ino,
      .size_bytes = static_cast<std::uint64_t>(found.st_size),
      .modified_ns = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

void FileSeries::record(const std::string& path,
                        const ReadPlan& requested,
                        const std::shared_ptr<read::SessionCore>& session) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  // The reads of the last file are complete; those of this one have not begun.
  std::vector<ByteRange> first_reads;
  if (newest_ && newest_->observer() != nullptr) first_reads = newest_->observer()->first_reads();
  newest_ = session;
  if (names_.size() == kNamesMax) names_.erase(names_.begin());
  names_.push_back(path);
  if (!executor_) {
    auto started = write::BlockingExecutor::start();
    if (!started) return;  // the next file is opened when the program does
    executor_ = std::move(*started);
  }
  add_next({requested, std::move(first_reads)});
}

/// Under the lock.
void FileSeries::add_next(const Usual& usual) {
  std::vector<std::string> names = names_;
  std::vector<Next> next;
  while (next.size() < kPreparedMax) {
    const auto name = push::next_in_series(names);
    if (!name) break;
    names.push_back(*name);
    const auto known = std::ranges::find(next_, *name, &Next::path);
    if (known != next_.end()) {
      next.push_back(std::move(*known));
      continue;
    }
    next.push_back({.path = *name});
    executor_->add([this, name = *name, usual](const std::optional<Error>& cancel_reason) {
      finish(name, cancel_reason ? nullptr : prepare(name, usual));
    });
  }
  next_ = std::move(next);
}

/// Null if the file does not exist yet, or memory is short.
std::shared_ptr<PreparedFile> FileSeries::prepare(const std::string& path,
                                                  const Usual& usual) const {
  auto prepared = prepare_(path, usual.requested);
  if (!prepared) return nullptr;
  const ByteRange extent = (*prepared)->session().geometry().extent();
  std::vector<ByteRange> reads = usual.first_reads;
  std::erase_if(reads, [&](const ByteRange& range) { return !extent.contains(range); });
  std::ignore = (*prepared)->session().observer()->hint(reads);
  return *prepared;
}

void FileSeries::finish(const std::string& path, std::shared_ptr<PreparedFile> file) {
  const std::lock_guard lock(mutex_);
  const auto next = std::ranges::find(next_, path, &Next::path);
  if (next == next_.end()) return;  // the program does not follow the series
  next->is_preparing = false;
  if (!is_stopped_) next->file = std::move(file);
  changed_.notify_all();
}

std::shared_ptr<PreparedFile> FileSeries::take(const std::string& path) {
  std::unique_lock lock(mutex_);
  const auto find = [&] { return std::ranges::find(next_, path, &Next::path); };
  changed_.wait(lock, [&] { return find() == next_.end() || !find()->is_preparing; });
  const auto next = find();
  if (next == next_.end()) return nullptr;
  const auto prepared = std::move(next->file);
  next_.erase(next);
  lock.unlock();
  return prepared && version_of(path) == prepared->version() ? prepared : nullptr;
}

void FileSeries::stop() {
  std::unique_ptr<write::BlockingExecutor> executor;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    executor = std::move(executor_);
  }
  if (executor) executor->stop();
  const std::lock_guard lock(mutex_);
  next_.clear();
  newest_ = nullptr;
}

}  // namespace forebay
