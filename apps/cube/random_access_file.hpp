// SPDX-License-Identifier: Apache-2.0
// The source of a profile's bytes. A small interface, so that parsers are tested without files, and
// a pass over all rows can use readahead.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace forebay::cube {

/// A file of fixed size. Reading is thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual const std::string& path() const noexcept = 0;
  virtual std::uint64_t size_bytes() const noexcept = 0;
  /// Fills `into` from `offset`; blocks. Fails with kShortFile, kIo, ... and names the path.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// A hint that the range, which must lie in the file, will be read soon. Does not wait for the
  /// data.
  virtual void prefetch(ByteRange /*range*/) const {}
};

/// Wraps another RandomAccessFile and measures bytes read and time spent in it.
class TimedFile final : public RandomAccessFile {
 public:
  explicit TimedFile(std::shared_ptr<const RandomAccessFile> source) : source_(std::move(source)) {}

  const std::string& path() const noexcept override { return source_->path(); }
  std::uint64_t size_bytes() const noexcept override { return source_->size_bytes(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override;
  void prefetch(ByteRange range) const override;

  std::uint64_t read_bytes() const noexcept { return read_bytes_; }
  /// Total time of all threads in read() and prefetch().
  double read_s() const noexcept { return static_cast<double>(read_ns_) * 1e-9; }

 private:
  const std::shared_ptr<const RandomAccessFile> source_;
  class Timer;
  mutable std::atomic<std::uint64_t> read_bytes_{0};
  mutable std::atomic<std::int64_t> read_ns_{0};
};

/// Makes an Error with an offset within a member refer to the file; `base` is the offset of the
/// member.
Error rebase_error(const Error& error, const std::string& path, std::uint64_t base);

}  // namespace forebay::cube
