// SPDX-License-Identifier: Apache-2.0
// PrivateRead: a range that is read into memory of its own, because views of other tasks hold the
// whole window. It is what keeps a request from ever waiting for another task.
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

class PrivateRead {
 public:
  /// Memory for `range`, with room for a transfer whose offset, length and address are multiples of
  /// `alignment`.
  PrivateRead(ByteRange range, std::uint64_t alignment_bytes);
  /// For one that never begins, because `error` stands in its way.
  PrivateRead(ByteRange range, Error error);

  const ByteRange& range() const noexcept { return range_; }
  /// What the agent reads, and where it starts in the file.
  std::span<std::byte> memory() const noexcept { return memory_; }
  std::uint64_t file_offset() const noexcept { return file_offset_; }

  /// The agent's end: the range is there, or why not.
  void finish(std::optional<Error> error);

  /// The owner's end.
  bool finished() const;
  /// Only when finished.
  const std::optional<Error>& error() const noexcept { return error_; }
  const std::byte* bytes() const noexcept {
    return memory_.data() + (range_.offset - file_offset_);
  }
  /// The memory itself, for a View to keep; bytes() stays valid.
  std::unique_ptr<std::byte[]> release() noexcept { return std::move(storage_); }
  bool arm(detail::Waiter& waiter);
  void disarm(detail::Waiter& waiter) noexcept;

 private:
  ByteRange range_;
  std::uint64_t file_offset_ = 0;
  std::unique_ptr<std::byte[]> storage_;
  std::span<std::byte> memory_;
  mutable std::mutex mutex_;
  bool finished_ = false;
  std::optional<Error> error_;
  detail::Waiter* waiter_ = nullptr;
};

}  // namespace forebay::read
