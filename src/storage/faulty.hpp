// SPDX-License-Identifier: Apache-2.0
// Decorators that inject faults, repeatably, from a seed: short transfers, EINTR, EAGAIN, EIO, late
// and reordered completions. Tests run all code through them; a failed test prints the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "storage/backend.hpp"
#include "storage/file_decorator.hpp"

namespace forebay::storage {

/// Faults and their probabilities, 0 to 1 for each attempt.
struct FaultPlan {
  std::uint64_t seed = 1;
  double short_transfer = 0;  ///< moves a part, at least one unit; direct files stay aligned
  double interrupted = 0;     ///< EINTR
  double try_again = 0;       ///< EAGAIN
  double io_error = 0;        ///< EIO
  double delayed = 0;         ///< completes some calls of wait() later, so that others overtake it
  /// Every transfer that touches one of these offsets fails with this error, EIO by default.
  std::vector<std::uint64_t> bad_offsets = {};
  int bad_error_number = 5;
};

/// Wraps a backend. No operation is lost: each completes if wait() is called often enough. Delayed
/// completions are returned at the latest when no other operation is in flight.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, FaultPlan plan);
  ~FaultyBackend() override;

  std::string_view name() const noexcept override { return inner_->name(); }
  std::size_t capacity() const noexcept override { return inner_->capacity(); }
  bool can_submit(const File& file) const noexcept override { return inner_->can_submit(file); }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override { inner_->wake(); }
  Status watch(int descriptor) override { return inner_->watch(descriptor); }
  bool consume_watch_event() noexcept override { return inner_->consume_watch_event(); }
  Status register_buffers(std::span<std::byte> arena) override {
    return inner_->register_buffers(arena);
  }
  void unregister_buffers(std::span<const std::byte> arena) noexcept override {
    inner_->unregister_buffers(arena);
  }

 private:
  /// A completion that is delayed for some calls of wait().
  struct DelayedCompletion {
    RawCompletion completion;
    unsigned rounds;
  };
  enum class ReleaseFilter : std::uint8_t { kExpired, kAll };
  static constexpr unsigned kDelayRoundsMax = 4;

  bool is_injected(double probability);
  std::optional<int> injected_error(const Operation& operation);
  Operation shorten(Operation operation);
  void queue_completion(RawCompletion completion);
  void release_delayed(ReleaseFilter age);
  std::size_t deliver(std::span<RawCompletion> completions);

  std::unique_ptr<Backend> inner_;
  const FaultPlan plan_;
  std::mt19937_64 random_;
  std::size_t inner_in_flight_ = 0;
  std::vector<RawCompletion> inner_results_;
  std::vector<RawCompletion> due_;  ///< ready to be returned
  std::vector<DelayedCompletion> delayed_;
};

/// Faults of a FaultyFile.
struct FileFaults {
  /// Reads and writes that touch this offset fail with EIO.
  std::optional<std::uint64_t> bad_offset = {};
  /// The file ends here although its size() is larger: it shrank after it was opened.
  std::optional<std::uint64_t> end_offset = {};
};

/// Injects faults into the transfers of a file.
class FaultyFile final : public FileDecorator {
 public:
  FaultyFile(std::unique_ptr<File> inner, FileFaults faults);

  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;

 private:
  Status check(std::string_view operation, ByteRange touched) const;

  const FileFaults faults_;
};

}  // namespace forebay::storage
