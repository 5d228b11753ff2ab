// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a profile come from: one small interface, so that parsers are tested without
// files, and a pass over all rows can have them read ahead.
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

/// A file of known size. Reading is thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& path() const noexcept = 0;
  virtual std::uint64_t size_bytes() const noexcept = 0;
  /// Fills all of `into` from `offset`; blocks. Fails with kShortFile, kIo, ... and names the path.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// The range, which lies in the file, will be read soon: a hint, which returns before it is here.
  virtual void expect(ByteRange /*range*/) const {}
};

/// Another source, with a watch: what was read through it, and how long its readers were away.
class TimedSource final : public ByteSource {
 public:
  explicit TimedSource(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}

  const std::string& path() const noexcept override { return source_->path(); }
  std::uint64_t size_bytes() const noexcept override { return source_->size_bytes(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override;
  void expect(ByteRange range) const override;

  std::uint64_t read_bytes() const noexcept { return read_bytes_; }
  /// Of all threads together, what it takes to tell of ranges ahead with it.
  double read_s() const noexcept { return static_cast<double>(read_ns_) * 1e-9; }

 private:
  const std::shared_ptr<const ByteSource> source_;
  class Watch;
  mutable std::atomic<std::uint64_t> read_bytes_{0};
  mutable std::atomic<std::int64_t> read_ns_{0};
};

/// A failure inside a member, told by its place in the file: `base` is where the member begins.
Error inside(const Error& error, const std::string& path, std::uint64_t base);

}  // namespace forebay::cube
