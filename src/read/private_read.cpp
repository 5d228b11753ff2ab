// SPDX-License-Identifier: Apache-2.0
#include "read/private_read.hpp"

#include <utility>

namespace forebay::read {

PrivateRead::PrivateRead(ByteRange range, std::uint64_t alignment_bytes) : range_(range) {
  const auto down = [&](std::uint64_t value) { return value / alignment_bytes * alignment_bytes; };
  const auto up = [&](std::uint64_t value) { return down(value + alignment_bytes - 1); };
  file_offset_ = down(range.offset);
  const std::uint64_t size = up(range.end()) - file_offset_;
  storage_ = std::make_unique_for_overwrite<std::byte[]>(size + alignment_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.get());
  memory_ = {storage_.get() + (up(address) - address), size};
}

PrivateRead::PrivateRead(ByteRange range, Error error)
    : range_(range), file_offset_(range.offset), finished_(true), error_(std::move(error)) {}

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
