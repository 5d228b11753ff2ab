// SPDX-License-Identifier: Apache-2.0
#include "trace/traced_file.hpp"

#include <utility>

namespace forebay::trace {

TracedFile::TracedFile(std::unique_ptr<storage::File> inner, Tracing tracing)
    : FileDecorator(std::move(inner)), tracing_(std::move(tracing)) {}

template <class T>
void TracedFile::record(TracedCall call, const Result<T>& result) {
  call.end = tracing_.clock.now();
  call.file = tracing_.file;
  call.flags = result ? 0 : kFlagFailed;
  tracing_.recorder->record(call);
}

Result<std::size_t> TracedFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  const TimePoint begin = tracing_.clock.now();
  auto result = FileDecorator::read_at(into, offset_bytes);
  record({.offset = offset_bytes, .size = result.value_or(into.size()), .begin = begin}, result);
  return result;
}

Result<std::size_t> TracedFile::write_at(std::span<const std::byte> from,
                                         std::uint64_t offset_bytes) {
  const TimePoint begin = tracing_.clock.now();
  auto result = FileDecorator::write_at(from, offset_bytes);
  record({.offset = offset_bytes,
          .size = result.value_or(from.size()),
          .begin = begin,
          .operation = TraceOperation::kWrite},
         result);
  return result;
}

Status TracedFile::sync() {
  const TimePoint begin = tracing_.clock.now();
  Status result = FileDecorator::sync();
  record({.begin = begin, .operation = TraceOperation::kSync}, result);
  return result;
}

}  // namespace forebay::trace
