// SPDX-License-Identifier: Apache-2.0
#include "read/bypass_read.hpp"

#include <new>
#include <utility>

#include "read/bypass_queue.hpp"

namespace forebay::read {

BypassRead::BypassRead(ByteRange range, std::weak_ptr<BypassQueue> bypass_queue)
    : range_(range), file_offset_(range.offset), queue_(std::move(bypass_queue)) {}

BypassRead::BypassRead(ByteRange range, Error error)
    : range_(range), file_offset_(range.offset), is_finished_(true), error_(std::move(error)) {}

bool BypassRead::allocate(std::uint64_t alignment_bytes) {
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

void BypassRead::return_to_queue() noexcept {
  const std::uint64_t bytes = std::exchange(held_bytes_, 0);
  if (bytes == 0) return;
  if (const auto bypass_queue = queue_.lock()) bypass_queue->release(bytes);
}

void BypassRead::finish(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  is_finished_ = true;
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
}

bool BypassRead::is_finished() const {
  const std::lock_guard lock(mutex_);
  return is_finished_;
}

bool BypassRead::arm(detail::Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (is_finished_) return false;
  waiter_ = &waiter;
  return true;
}

void BypassRead::disarm(detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiter_ == &waiter) waiter_ = nullptr;
}

}  // namespace forebay::read
