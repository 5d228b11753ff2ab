// SPDX-License-Identifier: Apache-2.0
// BypassQueue: private copies of a session that wait for an agent. They need only the session's
// file, so they proceed when the window is full. Thousands may be requested at once, so the memory
// that they hold together is limited.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "read/bypass_read.hpp"
#include "read/read_agent.hpp"
#include "read/transfer_source.hpp"

namespace forebay::read {

class BypassQueue final : public TransferSource, public std::enable_shared_from_this<BypassQueue> {
 public:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_read = 0;
  };

  /// `extent` is the session's.
  BypassQueue(std::shared_ptr<storage::File> file,
              ByteRange extent,
              std::shared_ptr<ReadAgent> agent);

  /// Limit of the memory held by reads that have begun. It is raised if their owners take nothing:
  /// see kLimitTimeout.
  static constexpr std::uint64_t kHeldBytesMax = 8_MiB;
  /// If no read began and none was taken for this time, the limit doubles, so that other reads do
  /// not wait.
  static constexpr std::chrono::milliseconds kLimitTimeout{20};

  /// Starts to read `range`; a read that cannot begin finishes with an Error.
  std::shared_ptr<BypassRead> read(ByteRange range);
  /// Reads that have not begun, and later ones, fail with `why`.
  void close(const Error& why);
  Counts counts() const;
  /// The owner of a read has taken or dropped its `bytes`.
  void release(std::uint64_t bytes) noexcept;

  storage::File& file() const noexcept override { return *file_; }
  std::uint64_t operation_bytes() const noexcept override { return 0; }
  std::uint64_t transfer_bytes_max() const noexcept override { return 1; }
  using TransferSource::next_transfer;
  bool next_transfer(Transfer& transfer, LoadPriority least) override;
  std::optional<TimePoint> retry_at() const override;
  void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) override;

 private:
  std::shared_ptr<BypassRead> next_startable();
  Error no_memory_error(ByteRange range) const;

  const std::shared_ptr<storage::File> file_;
  const ByteRange extent_;
  const std::shared_ptr<ReadAgent> agent_;
  mutable std::mutex mutex_;
  std::optional<Error> close_error_;
  std::deque<std::shared_ptr<BypassRead>> queued_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t held_bytes_max_ = kHeldBytesMax;
  TimePoint changed_at_;  ///< time at which a read last began or was last taken
  Counts counts_;
};

/// The Error of a file that now ends before `missing_byte`, although `extent` was inside it when
/// the session was opened.
Error short_file_error(const storage::File& file, ByteRange extent, std::uint64_t missing_byte);

/// Splinters and private copies are read in multiples of this, even if the device allows smaller
/// units.
std::uint32_t load_alignment_of(const storage::File& file);

}  // namespace forebay::read
