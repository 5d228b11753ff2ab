// SPDX-License-Identifier: Apache-2.0
// Storage that misbehaves on demand and repeatably: decorators that make short transfers, EINTR,
// EAGAIN, EIO, late and reordered completions from a seed. Tests run everything through them; the
// seed is printed when a test fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "storage/backend.hpp"
#include "storage/file.hpp"

namespace forebay::storage {

/// What goes wrong, and how often: probabilities of 0 to 1 for each attempt.
struct FaultPlan {
  std::uint64_t seed = 1;
  double short_transfer =
      0;  ///< part of the transfer is done, never nothing; direct files keep their alignment
  double interrupted = 0;  ///< EINTR
  double try_again = 0;    ///< EAGAIN
  double io_error = 0;     ///< EIO
  double late = 0;  ///< the completion is held back for some calls of wait(), so others overtake it
  /// Every transfer that touches one of these offsets fails with this error: EIO unless it says
  /// another one.
  std::vector<std::uint64_t> bad_offsets = {};
  int bad_error_number = 5;
};

/// Wraps a backend. Nothing is lost: every operation completes, if wait() is called often enough;
/// held-back completions are given out at the latest when nothing else is left to wait for.
class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, FaultPlan plan);
  ~FaultyBackend() override;

  std::string_view name() const noexcept override { return inner_->name(); }
  std::size_t capacity() const noexcept override { return inner_->capacity(); }
  bool accepts(const File& file) const noexcept override { return inner_->accepts(file); }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override { inner_->wake(); }
  Status watch(int descriptor) override { return inner_->watch(descriptor); }
  bool take_watched() noexcept override { return inner_->take_watched(); }
  Status add_buffers(std::span<std::byte> arena) override { return inner_->add_buffers(arena); }
  void remove_buffers(std::span<const std::byte> arena) noexcept override {
    inner_->remove_buffers(arena);
  }

 private:
  /// A completion that is held back for some rounds of wait().
  struct Late {
    RawCompletion completion;
    unsigned rounds;
  };
  enum class LateAge : std::uint8_t { kOld, kAny };
  static constexpr unsigned kLateRoundsMax = 4;

  bool happens(double probability);
  std::optional<int> error_for(const Operation& operation);
  Operation shorten(Operation operation);
  void sort_in(RawCompletion completion);
  void release_late(LateAge age);
  std::size_t give_out(std::span<RawCompletion> completions);

  std::unique_ptr<Backend> inner_;
  const FaultPlan plan_;
  std::mt19937_64 random_;
  std::size_t inner_in_flight_ = 0;
  std::vector<RawCompletion> inner_results_;
  std::vector<RawCompletion> due_;  ///< can be given out
  std::vector<Late> late_;
};

/// What a FaultyFile does wrong.
struct FileFaults {
  /// Reads and writes that touch this offset fail with EIO.
  std::optional<std::uint64_t> bad_offset = {};
  /// The file ends here although its size() says otherwise: it shrank after it was opened.
  std::optional<std::uint64_t> ends_at = {};
};

/// Wraps a file; it has no descriptor, so the ring does not accept it and the thread pool goes
/// through it.
class FaultyFile final : public File {
 public:
  FaultyFile(std::unique_ptr<File> inner, FileFaults faults);

  const std::string& path() const noexcept override { return inner_->path(); }
  FileSystem file_system() const noexcept override { return inner_->file_system(); }
  Access access() const noexcept override { return inner_->access(); }
  std::size_t alignment_bytes() const noexcept override { return inner_->alignment_bytes(); }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override { return inner_->sync(); }
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status punch(ByteRange range) override { return inner_->punch(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange range) const override {
    return inner_->cached_fraction(range);
  }
  std::optional<std::uint64_t> free_bytes() const override { return inner_->free_bytes(); }

 private:
  Status check(std::string_view operation, ByteRange touched) const;

  std::unique_ptr<File> inner_;
  const FileFaults faults_;
};

}  // namespace forebay::storage
