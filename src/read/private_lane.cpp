// SPDX-License-Identifier: Apache-2.0
#include "read/private_lane.hpp"

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
                .cause = "the file was cut while it was open" + now +
                         ", but the session reaches to " + std::to_string(extent.end())});
}

PrivateLane::PrivateLane(std::shared_ptr<storage::File> file,
                         ByteRange extent,
                         std::shared_ptr<Agent> agent)
    : file_(std::move(file)), extent_(extent), agent_(std::move(agent)) {}

std::shared_ptr<PrivateRead> PrivateLane::read(ByteRange range) {
  auto copy = std::make_shared<PrivateRead>(range, weak_from_this());
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return std::make_shared<PrivateRead>(range, *closed_);
    waiting_.push_back(copy);
    ++counts_.reads;
    counts_.bytes_asked += range.size;
  }
  agent_->serve(shared_from_this());
  return copy;
}

Error PrivateLane::no_memory_error(ByteRange range) const {
  return Error({.kind = ErrorClass::kLimit,
                .operation = "read",
                .path = file_->path(),
                .offset_bytes = range.offset,
                .cause = "no memory for a copy of " + std::to_string(range.size) +
                         " bytes; views of others hold the session's window"});
}

/// Null if none waits, or those that have begun hold enough.
std::shared_ptr<PrivateRead> PrivateLane::next_to_begin() {
  const TimePoint now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  if (held_bytes_ >= held_bytes_max_) {
    if (now < changed_at_ + kPatience) return nullptr;
    held_bytes_max_ *= 2;
  }
  std::shared_ptr<PrivateRead> copy = std::move(waiting_.front());
  waiting_.pop_front();
  if (copy->begin(load_alignment_of(*file_))) held_bytes_ += copy->memory().size();
  changed_at_ = now;
  return copy;
}

bool PrivateLane::next_transfer(Transfer& transfer, Urgency /*least*/) {
  while (auto copy = next_to_begin()) {
    if (!copy->memory().empty()) {
      transfer = {.file_offset = copy->file_offset(),
                  .memory = copy->memory(),
                  .load = {},
                  .copy = std::move(copy)};
      return true;
    }
    copy->finish(no_memory_error(copy->range()));
  }
  return false;
}

std::optional<TimePoint> PrivateLane::retry_at() const {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty() || held_bytes_ < held_bytes_max_) return std::nullopt;
  return changed_at_ + kPatience;
}

void PrivateLane::taken(std::uint64_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    held_bytes_ -= bytes;
    changed_at_ = std::chrono::steady_clock::now();
    if (held_bytes_ < kHeldBytesMax / 2) held_bytes_max_ = kHeldBytesMax;
    if (waiting_.empty() || held_bytes_ >= held_bytes_max_) return;
  }
  agent_->serve(shared_from_this());
}

void PrivateLane::finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) {
  const ByteRange& range = transfer.copy->range();
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
  transfer.copy->finish(std::move(error));
}

void PrivateLane::close(const Error& why) {
  std::deque<std::shared_ptr<PrivateRead>> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = why;
    dropped.swap(waiting_);
  }
  for (const auto& copy : dropped)
    copy->finish(why);
}

PrivateLane::Counts PrivateLane::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::read
