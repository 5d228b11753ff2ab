// SPDX-License-Identifier: Apache-2.0
#include "cube/random_access_file.hpp"

#include <chrono>

namespace forebay::cube {

/// Adds the time from construction to destruction.
class TimedFile::Timer {
 public:
  explicit Timer(std::atomic<std::int64_t>& sum_ns) : sum_ns_(sum_ns) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start_;
    sum_ns_ += elapsed.count();
  }

 private:
  std::atomic<std::int64_t>& sum_ns_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status TimedFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  const Timer watch(read_ns_);
  const Status done = source_->read(offset, into);
  if (done) read_bytes_ += into.size();
  return done;
}

void TimedFile::prefetch(ByteRange range) const {
  const Timer watch(read_ns_);
  source_->prefetch(range);
}

Error rebase_error(const Error& error, const std::string& path, std::uint64_t base) {
  return Error({.kind = error.kind(),
                .operation = error.operation(),
                .path = path,
                .offset_bytes = base + error.offset_bytes().value_or(0),
                .error_number = error.error_number(),
                .cause = error.cause()});
}

}  // namespace forebay::cube
