// SPDX-License-Identifier: Apache-2.0
// Input streams over a session, for programs that make many small sequential reads.
// forebay::istream is a std::istream with readahead: the next splinters are requested early.
// AsyncInputStream is its counterpart for coroutines: while one waits, others run.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ios>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <streambuf>

namespace forebay {

/// The stream buffer of forebay::istream. Its get area is a View, so small reads copy once and need
/// no request.
class FOREBAY_EXPORT SessionStreamBuffer final : public std::streambuf {
 public:
  explicit SessionStreamBuffer(Session session, ByteRange range);
  ~SessionStreamBuffer() override;

  /// The cause of badbit; empty if the stream has not failed.
  const std::optional<Error>& error() const noexcept { return error_; }

  /// Copies `count` bytes if all of them lie in the get area. Neither requests nor waits.
  bool copy_buffered(char* into, std::streamsize count) noexcept {
    if (count <= 0 || count > egptr() - gptr()) return false;
    std::memcpy(into, gptr(), static_cast<std::size_t>(count));
    setg(eback(), gptr() + count, egptr());
    return true;
  }

 protected:
  int_type underflow() override;
  int_type pbackfail(int_type character) override;
  std::streamsize xsgetn(char* into, std::streamsize count) override;
  pos_type seekoff(off_type offset,
                   std::ios_base::seekdir from,
                   std::ios_base::openmode mode) override;
  pos_type seekpos(pos_type position, std::ios_base::openmode mode) override;
  std::streamsize showmanyc() override;

 private:
  std::uint64_t position() const noexcept;
  bool seek_to(std::uint64_t position);
  bool refill();
  void release_view();

  Session session_;
  ByteRange range_;
  View view_;
  std::uint64_t view_end_ = 0;
  std::uint64_t prefetched_until_ = 0;
  std::optional<Error> error_;
};

/// A std::istream over a session. Positions count from the start of the session's extent: its first
/// byte has position 0. A storage failure sets badbit, and error() returns the cause. One thread at
/// a time.
class FOREBAY_EXPORT istream : public std::istream {
 public:
  explicit istream(Session session);
  /// Reads only `range` of the session. Positions count from its start.
  istream(Session session, ByteRange range);

  /// Reads exactly `into.size()` bytes, inline if they are in the get area: faster than read() for
  /// small reads. False at the end of the range or after a failure; the state is then as after
  /// read(). May be mixed with all calls of std::istream. After success, gcount() is unspecified. A
  /// tied stream may not be flushed.
  bool read_exact(std::span<char> into) {
    const auto count = static_cast<std::streamsize>(into.size());
    if (good() && rdbuf() == &buffer_ && buffer_.copy_buffered(into.data(), count)) [[likely]]
      return true;
    return static_cast<bool>(read(into.data(), count));
  }
  /// The same for any values that can be copied as bytes.
  template <WritableRange R>
  bool read_exact(R&& into) {
    const std::span<std::byte> bytes = writable_bytes(into);
    return read_exact(std::span(reinterpret_cast<char*>(bytes.data()), bytes.size()));
  }

  const std::optional<Error>& error() const noexcept { return buffer_.error(); }

 private:
  SessionStreamBuffer buffer_;
};

/// A sequential reader for coroutines: read(), seekg(), tellg(), gcount() and eof() of
/// std::istream, but read() returns a Future. It holds no View between calls, so a thousand of them
/// share one window. One read at a time.
class FOREBAY_EXPORT AsyncInputStream {
 public:
  explicit AsyncInputStream(Session session);
  /// Reads only `range` of the session. Positions count from its start.
  AsyncInputStream(Session session, ByteRange range);

  /// Reads into.size() bytes, fewer only at the end of the range; eof() is true then. The position
  /// and gcount() change when the read is *issued*; an Error does not undo that.
  Future<ByteCount> read(std::span<std::byte> into);
  /// The same for the bytes of any range.
  template <WritableRange R>
  Future<ByteCount> read(R&& into) {
    return read(writable_bytes(into));
  }

  /// Moves the position, relative to the start, the current position or the end. Fails with
  /// kOutOfRange outside [0, size].
  Status seekg(std::int64_t offset, std::ios_base::seekdir from = std::ios_base::beg);
  std::uint64_t tellg() const noexcept { return position_; }
  std::uint64_t gcount() const noexcept { return last_count_; }
  /// True after a read that requested more bytes than remained.
  bool eof() const noexcept { return eof_; }

 private:
  Session session_;
  ByteRange range_;
  std::uint64_t position_ = 0;
  std::uint64_t last_count_ = 0;
  bool eof_ = false;
};

}  // namespace forebay
