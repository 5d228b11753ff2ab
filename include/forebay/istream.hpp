// SPDX-License-Identifier: Apache-2.0
// Streams over a session, for programs that make many small sequential reads: forebay::istream is a
// std::istream that reads ahead for real: the next splinters are asked for early. AsyncStream has
// the same shape for coroutines; where there are many of them, others are what happens meanwhile.
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

/// The stream buffer behind forebay::istream: its get area is a View, so small reads copy once and
/// ask nobody.
class SessionBuffer final : public std::streambuf {
 public:
  explicit SessionBuffer(Session session, ByteRange range);
  ~SessionBuffer() override;

  /// Why the stream went bad; empty while it has not.
  const std::optional<Error>& error() const noexcept { return error_; }

  /// Copies `count` bytes if all of them lie in the get area. Neither asks nor waits.
  bool take(char* into, std::streamsize count) noexcept {
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
  bool move_to(std::uint64_t position);
  bool refill();
  void drop_view();
  std::streamsize read_past_view(char* into, std::uint64_t count);

  Session session_;
  ByteRange range_;
  View view_;
  std::uint64_t view_end_ = 0;
  std::uint64_t asked_until_ = 0;
  std::optional<Error> error_;
};

/// A std::istream over a session. Positions count from the start of the session's extent, so
/// position 0 is its first byte. A failure of storage sets badbit; error() says what it was. One
/// thread at a time.
class istream : public std::istream {
 public:
  explicit istream(Session session);
  /// Only `range` of the session; positions count from its start.
  istream(Session session, ByteRange range);

  /// As std::istream::read, whose work it does without a function call where the bytes lie at hand;
  /// callers that know this type get that by itself. Calls through a std::istream& mix freely.
  istream& read(char* into, std::streamsize count) {
    if (!take_at_hand(into, count)) [[unlikely]]
      std::istream::read(into, count);
    return *this;
  }

  const std::optional<Error>& error() const noexcept { return buffer_.error(); }

 private:
  /// What std::istream's sentry would look at comes first: the state, the buffer, the tied stream.
  bool take_at_hand(char* into, std::streamsize count) {
#ifdef __GLIBCXX__
    if (!good() || rdbuf() != &buffer_ || tie() != nullptr) return false;
    if (!buffer_.take(into, count)) return false;
    _M_gcount = count;  // libstdc++ lets derived streams count; others go the long way
    return true;
#else
    static_cast<void>(into), static_cast<void>(count);
    return false;
#endif
  }

  SessionBuffer buffer_;
};

/// A sequential reader for coroutines: like std::istream's read, seekg, tellg, gcount and eof, but
/// read() returns a Future. It holds no View between calls, so a thousand of them share one window.
/// One read at a time.
class AsyncStream {
 public:
  explicit AsyncStream(Session session);
  /// Only `range` of the session; positions count from its start.
  AsyncStream(Session session, ByteRange range);

  /// Reads into.size() bytes, fewer only at the end of the range (then eof() is true). The position
  /// moves, and gcount() is the number of bytes, as soon as the read is *issued*; an Error leaves
  /// them there.
  Future<ByteCount> read(std::span<std::byte> into);

  /// Moves the position; from the start, the current position or the end. kOutOfRange outside [0,
  /// size].
  Status seekg(std::int64_t offset, std::ios_base::seekdir from = std::ios_base::beg);
  std::uint64_t tellg() const noexcept { return position_; }
  std::uint64_t gcount() const noexcept { return last_count_; }
  /// True once a read asked for more than was left.
  bool eof() const noexcept { return eof_; }

 private:
  Session session_;
  ByteRange range_;
  std::uint64_t position_ = 0;
  std::uint64_t last_count_ = 0;
  bool eof_ = false;
};

}  // namespace forebay
