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

class PrivateLane;

class PrivateRead {
 public:
  /// `lane` learns when the memory is given back.
  PrivateRead(ByteRange range, std::weak_ptr<PrivateLane> lane);
  /// For one that never begins, because `error` stands in its way.
  PrivateRead(ByteRange range, Error error);
  ~PrivateRead() { give_back(); }
  PrivateRead(const PrivateRead&) = delete;
  PrivateRead& operator=(const PrivateRead&) = delete;

  const ByteRange& range() const noexcept { return range_; }
  /// Takes memory for the range, with room for a transfer whose offset, length and address are
  /// multiples of `alignment_bytes`. False if there is none. Once, before the agent reads.
  bool begin(std::uint64_t alignment_bytes);
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
  std::unique_ptr<std::byte[]> release() noexcept {
    give_back();
    return std::move(storage_);
  }
  bool arm(detail::Waiter& waiter);
  void disarm(detail::Waiter& waiter) noexcept;

 private:
  /// It is the owner's from now on.
  void give_back() noexcept;

  ByteRange range_;
  std::uint64_t file_offset_ = 0;
  std::weak_ptr<PrivateLane> lane_;
  std::uint64_t held_bytes_ = 0;  ///< that the lane counts
  std::unique_ptr<std::byte[]> storage_;
  std::span<std::byte> memory_;
  mutable std::mutex mutex_;
  bool finished_ = false;
  std::optional<Error> error_;
  detail::Waiter* waiter_ = nullptr;
};

}  // namespace forebay::read
