// SPDX-License-Identifier: Apache-2.0
#include "cube/byte_source.hpp"

#include <chrono>

namespace forebay::cube {

/// Adds the time from here to its end.
class TimedSource::Watch {
 public:
  explicit Watch(std::atomic<std::int64_t>& sum_ns) : sum_ns_(sum_ns) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start_;
    sum_ns_ += elapsed.count();
  }

 private:
  std::atomic<std::int64_t>& sum_ns_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status TimedSource::read(std::uint64_t offset, std::span<std::byte> into) const {
  const Watch watch(read_ns_);
  const Status done = source_->read(offset, into);
  if (done) read_bytes_ += into.size();
  return done;
}

void TimedSource::expect(ByteRange range) const {
  const Watch watch(read_ns_);
  source_->expect(range);
}

Error inside(const Error& error, const std::string& path, std::uint64_t base) {
  return Error({.kind = error.kind(),
                .operation = error.operation(),
                .path = path,
                .offset_bytes = base + error.offset_bytes().value_or(0),
                .error_number = error.error_number(),
                .cause = error.cause()});
}

}  // namespace forebay::cube
