// SPDX-License-Identifier: Apache-2.0
// Input streams over a session, for programs that make many small sequential reads.
// forebay::istream is a std::istream with readahead: the next splinters are requested early.
// AsyncInputStream is its counterpart for coroutines: while one waits, others run.
#pragma once

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
class SessionStreamBuffer final : public std::streambuf {
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
  std::streamsize read_past_view(char* into, std::uint64_t count);

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
class istream : public std::istream {
 public:
  explicit istream(Session session);
  /// Reads only `range` of the session. Positions count from its start.
  istream(Session session, ByteRange range);

  /// As std::istream::read(), but inline if the bytes are in the get area. Calls on this type use
  /// it automatically. Calls through a std::istream& may be mixed with it.
  istream& read(char* into, std::streamsize count) {
    if (!read_buffered(into, count)) [[unlikely]]
      std::istream::read(into, count);
    return *this;
  }

  const std::optional<Error>& error() const noexcept { return buffer_.error(); }

 private:
  /// First tests what the sentry of std::istream tests: state, buffer, tied stream.
  bool read_buffered(char* into, std::streamsize count) {
#ifdef __GLIBCXX__
    if (!good() || rdbuf() != &buffer_ || tie() != nullptr) return false;
    if (!buffer_.copy_buffered(into, count)) return false;
    _M_gcount = count;  // libstdc++ lets derived classes set the count; others use
                        // std::istream::read()
    return true;
#else
    static_cast<void>(into), static_cast<void>(count);
    return false;
#endif
  }

  SessionStreamBuffer buffer_;
};

/// A sequential reader for coroutines: read(), seekg(), tellg(), gcount() and eof() of
/// std::istream, but read() returns a Future. It holds no View between calls, so a thousand of them
/// share one window. One read at a time.
class AsyncInputStream {
 public:
  explicit AsyncInputStream(Session session);
  /// Reads only `range` of the session. Positions count from its start.
  AsyncInputStream(Session session, ByteRange range);

  /// Reads into.size() bytes, fewer only at the end of the range; eof() is true then. The position
  /// and gcount() change when the read is *issued*; an Error does not undo that.
  Future<ByteCount> read(std::span<std::byte> into);

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
