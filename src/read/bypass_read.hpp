// SPDX-License-Identifier: Apache-2.0
// BypassRead: a private copy: a range that is read into memory outside the window, because views of
// other tasks pin all slots or its splinter cannot be read whole. So a request never waits for
// another task.
#pragma once

#include <forebay/future.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace forebay::read {

class BypassQueue;

class BypassRead {
 public:
  /// `bypass_queue` is notified when the memory is released.
  BypassRead(ByteRange range, std::weak_ptr<BypassQueue> bypass_queue);
  /// A read that has failed with `error` before it began.
  BypassRead(ByteRange range, Error error);
  ~BypassRead() { return_to_queue(); }
  BypassRead(const BypassRead&) = delete;
  BypassRead& operator=(const BypassRead&) = delete;

  const ByteRange& range() const noexcept { return range_; }
  /// Allocates memory for the range, with room for a transfer whose offset, length and address are
  /// multiples of `alignment_bytes`. False if there is not enough. Call it once, before the agent
  /// reads.
  bool allocate(std::uint64_t alignment_bytes);
  /// Destination of the transfer, and its offset in the file.
  std::span<std::byte> memory() const noexcept { return memory_; }
  std::uint64_t file_offset() const noexcept { return file_offset_; }

  /// Called by the agent when the range is read, or with an Error.
  void finish(std::optional<Error> error);

  /// Called by the owner of the read, like all below.
  bool is_finished() const;
  /// Only when finished.
  const std::optional<Error>& error() const noexcept { return error_; }
  const std::byte* bytes() const noexcept {
    return memory_.data() + (range_.offset - file_offset_);
  }
  /// Moves the memory out, for a View to keep; bytes() stays valid.
  std::unique_ptr<std::byte[]> release() noexcept {
    return_to_queue();
    return std::move(storage_);
  }
  bool arm(detail::Waiter& waiter);
  void disarm(detail::Waiter& waiter) noexcept;

 private:
  /// Subtracts the memory from what the queue counts as held.
  void return_to_queue() noexcept;

  ByteRange range_;
  std::uint64_t file_offset_ = 0;
  std::weak_ptr<BypassQueue> queue_;
  std::uint64_t held_bytes_ = 0;  ///< counted by the queue
  std::unique_ptr<std::byte[]> storage_;
  std::span<std::byte> memory_;
  mutable std::mutex mutex_;
  bool is_finished_ = false;
  std::optional<Error> error_;
  detail::Waiter* waiter_ = nullptr;
};

}  // namespace forebay::read
