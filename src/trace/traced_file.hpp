// SPDX-License-Identifier: Apache-2.0
// TracedFile: a decorator that records the reads, writes and syncs of a file.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "storage/file_decorator.hpp"
#include "trace/trace_recorder.hpp"

namespace forebay::trace {

/// The recorder of a TracedFile, and the number of the file there.
struct Tracing {
  std::shared_ptr<TraceRecorder> recorder;
  std::uint16_t file = kFileUnknown;
  const Clock& clock = SteadyClock::shared();
};

/// Records the bytes that a call has transferred, or the requested ones and kFlagFailed.
class TracedFile final : public storage::FileDecorator {
 public:
  TracedFile(std::unique_ptr<storage::File> inner, Tracing tracing);

  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override;

 private:
  /// Records a call that has returned `result`.
  template <class T>
  void record(TracedCall call, const Result<T>& result);

  const Tracing tracing_;
};

}  // namespace forebay::trace
