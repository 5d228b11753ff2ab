// SPDX-License-Identifier: Apache-2.0
#include "read/bypass_queue.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace forebay::read {

namespace {

/// One page.
constexpr std::uint64_t kLoadAlignmentMin = 4096;

}  // namespace

std::uint32_t load_alignment_of(const storage::File& file) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(kLoadAlignmentMin, file.alignment_bytes()));
}

Error short_file_error(const storage::File& file, ByteRange extent, std::uint64_t missing_byte) {
  const Result<std::uint64_t> size = file.size();
  const std::string now = size ? " and has " + std::to_string(*size) + " bytes now" : "";
  return Error({.kind = ErrorClass::kShortFile,
                .operation = "read",
                .path = file.path(),
                .offset_bytes = missing_byte,
                .cause = "the file was truncated while it was open" + now +
                         ", but the session reaches to " + std::to_string(extent.end())});
}

BypassQueue::BypassQueue(std::shared_ptr<storage::File> file,
                         ByteRange extent,
                         std::shared_ptr<ReadAgent> agent)
    : file_(std::move(file)), extent_(extent), agent_(std::move(agent)) {}

std::shared_ptr<BypassRead> BypassQueue::read(ByteRange range) {
  auto copy = std::make_shared<BypassRead>(range, weak_from_this());
  {
    const std::lock_guard lock(mutex_);
    if (close_error_) return std::make_shared<BypassRead>(range, *close_error_);
    queued_.push_back(copy);
    ++counts_.reads;
    counts_.bytes_requested += range.size;
  }
  agent_->notify(shared_from_this());
  return copy;
}

Error BypassQueue::no_memory_error(ByteRange range) const {
  return Error({.kind = ErrorClass::kLimit,
                .operation = "read",
                .path = file_->path(),
                .offset_bytes = range.offset,
                .cause = "no memory for a copy of " + std::to_string(range.size) +
                         " bytes; views hold the session's window: release some"});
}

/// Null if none is queued, or if those that have begun hold the limit.
std::shared_ptr<BypassRead> BypassQueue::next_startable() {
  const TimePoint now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (queued_.empty()) return nullptr;
  if (held_bytes_ >= held_bytes_max_) {
    if (now < changed_at_ + kLimitTimeout) return nullptr;
    held_bytes_max_ *= 2;
  }
  std::shared_ptr<BypassRead> copy = std::move(queued_.front());
  queued_.pop_front();
  if (copy->allocate(load_alignment_of(*file_))) held_bytes_ += copy->memory().size();
  changed_at_ = now;
  return copy;
}

bool BypassQueue::next_transfer(Transfer& transfer, LoadPriority /*least*/) {
  while (auto copy = next_startable()) {
    if (!copy->memory().empty()) {
      transfer = {.file_offset = copy->file_offset(),
                  .memory = copy->memory(),
                  .load = {},
                  .bypass_read = std::move(copy)};
      return true;
    }
    copy->finish(no_memory_error(copy->range()));
  }
  return false;
}

std::optional<TimePoint> BypassQueue::retry_at() const {
  const std::lock_guard lock(mutex_);
  if (queued_.empty() || held_bytes_ < held_bytes_max_) return std::nullopt;
  return changed_at_ + kLimitTimeout;
}

void BypassQueue::release(std::uint64_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    held_bytes_ -= bytes;
    changed_at_ = std::chrono::steady_clock::now();
    if (held_bytes_ < kHeldBytesMax / 2) held_bytes_max_ = kHeldBytesMax;
    if (queued_.empty() || held_bytes_ >= held_bytes_max_) return;
  }
  agent_->notify(shared_from_this());
}

void BypassQueue::finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) {
  const ByteRange& range = transfer.bypass_read->range();
  const std::uint64_t reached = transfer.file_offset + bytes.value_or(0);
  std::optional<Error> error;
  if (!bytes) {
    error = bytes.error();
  } else if (reached < range.end()) {
    error = short_file_error(*file_, extent_, std::max(reached, range.offset));
  }
  {
    const std::lock_guard lock(mutex_);
    counts_.bytes_read += bytes.value_or(0);
  }
  transfer.bypass_read->finish(std::move(error));
}

void BypassQueue::close(const Error& why) {
  std::deque<std::shared_ptr<BypassRead>> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (close_error_) return;
    close_error_ = why;
    dropped.swap(queued_);
  }
  for (const auto& copy : dropped)
    copy->finish(why);
}

BypassQueue::Counts BypassQueue::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::read
