// SPDX-License-Identifier: Apache-2.0
#include "hdf5/write_behind.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace forebay::hdf5 {
namespace {

constexpr std::uint64_t kBufferBytesMin = 64_KiB;
constexpr std::uint64_t kBufferBytesMax = 1_MiB;
constexpr std::uint64_t kBuffersUsual = 8;
constexpr std::size_t kInFlightRangesMax = 4096;  // bounds the memory of their list

StreamPlan plan_for(std::uint64_t budget_bytes) {
  const std::uint64_t share = budget_bytes / kBuffersUsual / kBufferBytesMin * kBufferBytesMin;
  const std::uint64_t size = std::clamp(share, kBufferBytesMin, kBufferBytesMax);
  const std::uint64_t count = std::clamp<std::uint64_t>(budget_bytes / size, 2, 1024);
  return {.access = Access::kBuffered,  // metadata is small and never aligned
          .buffer_bytes = size,
          .buffers = static_cast<std::uint32_t>(count)};
}

bool overlap(ByteRange one, ByteRange other) {
  return one.offset < other.end() && other.offset < one.end();
}

}  // namespace

Result<std::unique_ptr<WriteBehind>> WriteBehind::open(Runtime& runtime,
                                                       const std::string& path,
                                                       std::uint64_t budget_bytes) {
  Result<OutputStream> stream = runtime.create_output_stream(plan_for(budget_bytes));
  if (!stream) return failure(stream.error());
  Result<OutputFile> file =
      stream->create(path, OutputFileOptions{.existing_content = ExistingContent::kKeep});
  if (!file) return failure(file.error());
  return std::unique_ptr<WriteBehind>(new WriteBehind(std::move(*stream), std::move(*file)));
}

Status WriteBehind::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t capacity = stream_.plan().buffer_bytes;
    const Run* run = run_for({offset, 1});
    const std::uint64_t room = run == nullptr ? capacity : run->offset + capacity - offset;
    const std::span<const std::byte> piece =
        bytes.first(std::min<std::uint64_t>(room, bytes.size()));
    if (const Status written = write_piece(offset, piece); !written) return written;
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

// The order of overlapping submissions is undefined, so a piece that overlaps others waits for
// them, unless it stays within its own run.
Status WriteBehind::write_piece(std::uint64_t offset, std::span<const std::byte> bytes) {
  const ByteRange range{offset, bytes.size()};
  Run* run = run_for(range);
  const bool is_inside = run != nullptr && range.end() <= run->range().end();
  const ByteRange added = run == nullptr || is_inside
                              ? range
                              : ByteRange{run->range().end(), range.end() - run->range().end()};
  if (!is_inside && is_pending(added)) {
    if (const Status drained = drain(); !drained) return drained;
    run = nullptr;
  }
  if (run == nullptr) {
    if (const Status started = start_run(offset); !started) return started;
    run = &runs_.back();
  }
  std::memcpy(run->buffer.bytes().data() + (offset - run->offset), bytes.data(), bytes.size());
  run->size = std::max(run->size, range.end() - run->offset);
  if (run->size < run->buffer.bytes().size()) return {};
  return submit(static_cast<std::size_t>(run - runs_.data()));
}

// The run into which `range` can be copied, without a gap.
WriteBehind::Run* WriteBehind::run_for(ByteRange range) {
  for (Run& run : runs_) {
    const bool begins_inside = range.offset >= run.offset && range.offset <= run.range().end();
    if (begins_inside && range.end() <= run.offset + run.buffer.bytes().size()) return &run;
  }
  return nullptr;
}

Status WriteBehind::start_run(std::uint64_t offset) {
  if (runs_.size() >= stream_.plan().buffers / 2)
    if (const Status submitted = submit(0); !submitted) return submitted;
  Result<OutputBuffer> buffer = stream_.acquire();
  if (!buffer) return failure(buffer.error());
  runs_.push_back({std::move(*buffer), offset, 0});
  return {};
}

Status WriteBehind::submit(std::size_t index) {
  Run run = std::move(runs_[index]);
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(index));
  note_in_flight(run.range());
  const Status submitted = stream_.submit(std::move(run.buffer), file_, run.offset, run.size);
  if (!submitted || in_flight_.size() <= kInFlightRangesMax) return submitted;
  return drain();
}

void WriteBehind::note_in_flight(ByteRange range) {
  std::uint64_t begin = range.offset;
  std::uint64_t end = range.end();
  const auto next = in_flight_.find(end);
  if (next != in_flight_.end()) {
    end = next->second;
    in_flight_.erase(next);
  }
  const auto after = in_flight_.lower_bound(begin);
  if (after != in_flight_.begin() && std::prev(after)->second == begin)
    begin = std::prev(after)->first;
  in_flight_[begin] = end;
}

bool WriteBehind::is_pending(ByteRange range) const {
  for (const Run& run : runs_)
    if (overlap(run.range(), range)) return true;
  const auto after = in_flight_.lower_bound(range.end());
  return after != in_flight_.begin() && std::prev(after)->second > range.offset;
}

bool WriteBehind::read(std::uint64_t offset, std::span<std::byte> into) const {
  for (const Run& run : runs_) {
    if (offset < run.offset || offset + into.size() > run.range().end()) continue;
    std::memcpy(into.data(), run.buffer.bytes().data() + (offset - run.offset), into.size());
    return true;
  }
  return false;
}

Status WriteBehind::drain() {
  while (!runs_.empty()) {
    Run run = std::move(runs_.back());
    runs_.pop_back();
    // An error is permanent in the stream: drain() returns it.
    static_cast<void>(stream_.submit(std::move(run.buffer), file_, run.offset, run.size));
  }
  in_flight_.clear();
  return stream_.drain();
}

}  // namespace forebay::hdf5
