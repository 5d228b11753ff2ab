// SPDX-License-Identifier: Apache-2.0
// TracedFile: a decorator that records the reads, writes and syncs of a file.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "storage/file.hpp"
#include "trace/trace_recorder.hpp"

namespace forebay::trace {

/// The recorder of a TracedFile, and the number of the file there.
struct Tracing {
  std::shared_ptr<TraceRecorder> recorder;
  std::uint16_t file = kFileUnknown;
  const Clock& clock = SteadyClock::shared();
};

/// Wraps a file. Records the bytes that a call has transferred, or the requested ones and
/// kFlagFailed. It has no descriptor, so asynchronous transfers run on threads, which call its
/// methods.
class TracedFile final : public storage::File {
 public:
  TracedFile(std::unique_ptr<storage::File> inner, Tracing tracing);

  const std::string& path() const noexcept override { return inner_->path(); }
  storage::FileSystem file_system() const noexcept override { return inner_->file_system(); }
  forebay::Access access() const noexcept override { return inner_->access(); }
  std::size_t alignment_bytes() const noexcept override { return inner_->alignment_bytes(); }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override;
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status reserve(ByteRange range) override { return inner_->reserve(range); }
  Status punch_hole(ByteRange range) override { return inner_->punch_hole(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange range) const override {
    return inner_->cached_fraction(range);
  }
  std::optional<std::uint64_t> free_bytes() const override { return inner_->free_bytes(); }

 private:
  /// Records a call that has returned `result`.
  template <class T>
  void record(TracedCall call, const Result<T>& result);

  std::unique_ptr<storage::File> inner_;
  const Tracing tracing_;
};

}  // namespace forebay::trace
