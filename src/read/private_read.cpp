// SPDX-License-Identifier: Apache-2.0
#include "read/private_read.hpp"

#include <new>
#include <utility>

#include "read/private_lane.hpp"

namespace forebay::read {

PrivateRead::PrivateRead(ByteRange range, std::weak_ptr<PrivateLane> lane)
    : range_(range), file_offset_(range.offset), lane_(std::move(lane)) {}

PrivateRead::PrivateRead(ByteRange range, Error error)
    : range_(range), file_offset_(range.offset), finished_(true), error_(std::move(error)) {}

bool PrivateRead::begin(std::uint64_t alignment_bytes) {
  const auto down = [&](std::uint64_t value) { return value / alignment_bytes * alignment_bytes; };
  const auto up = [&](std::uint64_t value) { return down(value + alignment_bytes - 1); };
  const std::uint64_t first = down(range_.offset);
  const std::uint64_t size = up(range_.end()) - first;
  storage_.reset(new (std::nothrow) std::byte[size + alignment_bytes]);
  if (!storage_) return false;
  file_offset_ = first;
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
  memory_ = {storage_.get() + (up(address) - address), size};
  held_bytes_ = size;
  return true;
}

void PrivateRead::give_back() noexcept {
  const std::uint64_t bytes = std::exchange(held_bytes_, 0);
  if (bytes == 0) return;
  if (const auto lane = lane_.lock()) lane->taken(bytes);
}

void PrivateRead::finish(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  finished_ = true;
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
}

bool PrivateRead::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

bool PrivateRead::arm(detail::Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (finished_) return false;
  waiter_ = &waiter;
  return true;
}

void PrivateRead::disarm(detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiter_ == &waiter) waiter_ = nullptr;
}

}  // namespace forebay::read
