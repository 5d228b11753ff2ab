// SPDX-License-Identifier: Apache-2.0
// PrivateLane: the private reads of a session on their way to an agent. They need nothing of the
// session but its file, so that they go on where its window does not. Thousands may be asked for at
// once: what they hold together is limited.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "read/agent.hpp"
#include "read/private_read.hpp"
#include "read/transfer_source.hpp"

namespace forebay::read {

class PrivateLane final : public TransferSource, public std::enable_shared_from_this<PrivateLane> {
 public:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t bytes_asked = 0;
    std::uint64_t bytes_read = 0;
  };

  /// `extent` is the session's.
  PrivateLane(std::shared_ptr<storage::File> file, ByteRange extent, std::shared_ptr<Agent> agent);

  /// What reads that have begun hold together, as long as their owners take what is there.
  static constexpr std::uint64_t kHeldBytesMax = 8_MiB;
  /// When nobody has taken anything for so long, others need not wait for it: the limit doubles.
  static constexpr std::chrono::milliseconds kPatience{20};

  /// Starts to read `range`; one that cannot begin ends with the reason.
  std::shared_ptr<PrivateRead> read(ByteRange range);
  /// What has not begun ends with `why`, and so does what comes later.
  void close(const Error& why);
  Counts counts() const;
  /// The owner of a read has taken its bytes, or wants them no more.
  void taken(std::uint64_t bytes) noexcept;

  storage::File& file() const noexcept override { return *file_; }
  std::uint64_t operation_bytes() const noexcept override { return 0; }
  std::uint64_t transfer_bytes_max() const noexcept override { return 1; }
  using TransferSource::next_transfer;
  bool next_transfer(Transfer& transfer, Urgency least) override;
  std::optional<TimePoint> retry_at() const override;
  void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) override;

 private:
  std::shared_ptr<PrivateRead> next_to_begin();
  Error no_memory_error(ByteRange range) const;

  const std::shared_ptr<storage::File> file_;
  const ByteRange extent_;
  const std::shared_ptr<Agent> agent_;
  mutable std::mutex mutex_;
  std::optional<Error> closed_;
  std::deque<std::shared_ptr<PrivateRead>> waiting_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t held_bytes_max_ = kHeldBytesMax;
  TimePoint changed_at_;  ///< when a read began or was taken last
  Counts counts_;
};

/// The file ended before `missing_byte`, though `extent` was in it when the session was opened.
Error short_file_error(const storage::File& file, ByteRange extent, std::uint64_t missing_byte);

/// Splinters and copies are read in multiples of this even where the device would allow less.
std::uint32_t load_alignment_of(const storage::File& file);

}  // namespace forebay::read
