// SPDX-License-Identifier: Apache-2.0
// The read calls of CkIO, the I/O library of Charm++, over sessions of Forebay: open(),
// startReadSession(), read(), closeReadSession(), close(), and the FileReader. Argument order and
// absolute offsets are those of Ck::IO. docs/guides/charm.md lists the differences.
//
// This header is independent of Charm++: it is written for any runtime of processing elements (PEs)
// that exchange messages. TaskSystemOf<Callback> states what it needs of that runtime.
// <forebay/charm/forebay_charm.hpp> implements it for Charm++.
//
// A PE never blocks: files and sessions are opened on one thread of each process. No thread of
// Forebay calls the task system: it only posts Work to the PeQueue of a PE.
#pragma once

#include <forebay/detail/charm_process.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/session.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ios>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace forebay::charm {

/// The most bytes that a ReadCompleteMsg carries.
inline constexpr std::size_t kMessageBytesMax = std::size_t{1} << 30U;

/// Opens `name` for reading in all processes and sends a FileReadyMsg to `opened`. Never creates a
/// file. Call it on one PE, once for each file.
template <class Callback>
void open(std::string name, const Callback& opened, const Options& options = {}) {
  detail::request(Command<Callback>{
      .kind = CommandKind::kOpen, .options = options, .text = std::move(name), .callback = opened});
}

/// Declares that `bytes` bytes at `offset` of the file will be read, and sends a SessionReadyMsg to
/// `ready`. Agents begin to read at once. Call it on one PE. Any number of sessions may be open on
/// a file. The message has an error if the range passes the end of the file.
template <class Callback>
// NOLINTNEXTLINE(readability-identifier-naming): CkIO's name
void startReadSession(const File& file,
                      std::size_t bytes,
                      std::size_t offset,
                      const Callback& ready) {
  detail::request(Command<Callback>{.kind = CommandKind::kStart,
                                    .target = file.number,
                                    .offset = offset,
                                    .bytes = bytes,
                                    .callback = ready});
}

/// Reads `bytes` bytes at `offset`, counted from the start of the file, into `data`, and sends a
/// ReadCompleteMsg to `after_read`. Any chare on any PE; returns at once. `data` is written on this
/// PE, before the message is sent, and must stay valid until then: use the overload without `data`
/// if the chare may migrate. A read of zero bytes is complete at once.
template <class Callback>
void read(const Session& session,
          std::size_t bytes,
          std::size_t offset,
          char* data,
          const Callback& after_read) {
  using System = TaskSystemOf<Callback>;
  const auto into = std::as_writable_bytes(std::span(data, bytes));
  auto finish = [=](const Result<ByteCount>& result) {
    System::send(after_read, detail::read_message<Callback>(0, bytes, offset, result));
  };
  detail::read_into<Callback>(session, offset, into).then(System::executor(), std::move(finish));
}

/// The same for a chare that may migrate before the message arrives: the message carries the bytes,
/// in ReadCompleteMsg::data. Forebay reads them into the message, without a further copy. Fails
/// with kLimit for more than kMessageBytesMax bytes.
template <class Callback>
void read(const Session& session,
          std::size_t bytes,
          std::size_t offset,
          const Callback& after_read) {
  using System = TaskSystemOf<Callback>;
  if (bytes > kMessageBytesMax)
    return System::send(after_read, detail::read_message<Callback>(
                                        0, bytes, offset, detail::too_long(bytes, offset)));
  auto* message = detail::read_message<Callback>(bytes, bytes, offset, ByteCount{bytes});
  const auto into = std::as_writable_bytes(std::span(message->data, bytes));
  auto finish = [=](const Result<ByteCount>& result) {
    if (result) return System::send(after_read, message);
    System::destroy(message);
    System::send(after_read, detail::read_message<Callback>(0, bytes, offset, result));
  };
  detail::read_into<Callback>(session, offset, into).then(System::executor(), std::move(finish));
}

/// Closes the session in all processes and sends a ClosedMsg to `after_end`. Reads in progress
/// complete, or their message has an error of class kClosed.
template <class Callback>
// NOLINTNEXTLINE(readability-identifier-naming): CkIO's name
void closeReadSession(const Session& session, const Callback& after_end) {
  detail::request(Command<Callback>{
      .kind = CommandKind::kCloseSession, .target = session.number, .callback = after_end});
}

/// Closes the file in all processes and sends a ClosedMsg to `closed`. Open sessions stay usable.
template <class Callback>
void close(const File& file, const Callback& closed) {
  detail::request(Command<Callback>{
      .kind = CommandKind::kCloseFile, .target = file.number, .callback = closed});
}

/// Reads a session as a std::istream, for many small sequential reads. read() suspends the calling
/// user-level thread, not its PE: call it in a threaded entry method, which must not migrate
/// meanwhile. Coroutines use forebay::AsyncInputStream. Not a chare; one thread at a time.
/// Positions count from the start of the session. For Charm++, FileReader is
/// BasicFileReader<CkCallback>.
template <class Callback>
class BasicFileReader {
 public:
  explicit BasicFileReader(const Session& session) : session_(session) {}

  /// Reads `bytes` bytes. gcount() is less only at the end of the session, where eof() becomes
  /// true, and after a failure, where error() has the cause. Both make operator! true.
  BasicFileReader& read(char* into, std::size_t bytes) {
    count_ = 0;
    if (!*this) return *this;
    const std::size_t available = std::min(bytes, session_.bytes - position_);
    while (count_ < available && fill(into + count_, available - count_)) {
    }
    is_eof_ = !error_ && count_ < bytes;
    return *this;
  }

  /// Moves the position and clears eof(). Sets error() if the target is outside the session.
  BasicFileReader& seekg(std::int64_t offset, std::ios_base::seekdir from = std::ios_base::beg) {
    const std::size_t base = from == std::ios_base::beg   ? 0
                             : from == std::ios_base::cur ? position_
                                                          : session_.bytes;
    const std::uint64_t target = base + static_cast<std::uint64_t>(offset);  // wraps if negative
    is_eof_ = false;
    if (target > session_.bytes)
      error_ = detail::bad_seek(session_, base, offset);
    else
      position_ = target;
    return *this;
  }
  std::size_t tellg() const noexcept { return position_; }
  std::size_t gcount() const noexcept { return count_; }
  bool eof() const noexcept { return is_eof_; }
  bool operator!() const noexcept { return is_eof_ || error_.has_value(); }
  explicit operator bool() const noexcept { return !!*this; }
  /// The first failure. It is permanent.
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  static constexpr std::size_t kBufferBytes = 4096;

  /// Copies from the buffer, or reads: long rests into the memory of the caller, short ones through
  /// the buffer. False after a failure.
  bool fill(char* into, std::size_t bytes) {
    if (position_ < buffer_start_ || position_ >= buffer_start_ + buffer_bytes_) {
      if (bytes >= kBufferBytes) return read_at(position_, into, bytes) && advance(bytes);
      const std::size_t next = std::min(kBufferBytes, session_.bytes - position_);
      buffer_bytes_ = 0;
      if (!read_at(position_, buffer_.data(), next)) return false;
      buffer_start_ = position_;
      buffer_bytes_ = next;
    }
    const std::size_t begin = position_ - buffer_start_;
    const std::size_t part = std::min(bytes, buffer_bytes_ - begin);
    std::memcpy(into, buffer_.data() + begin, part);
    return advance(part);
  }
  bool advance(std::size_t bytes) noexcept {
    position_ += bytes;
    count_ += bytes;
    return true;
  }
  bool read_at(std::size_t position, char* into, std::size_t bytes) {
    const auto span = std::as_writable_bytes(std::span(into, bytes));
    auto done = detail::await<Callback>(
        detail::read_into<Callback>(session_, session_.offset + position, span));
    if (!done) error_ = done.error();
    return done.has_value();
  }

  Session session_;
  std::size_t position_ = 0;
  std::size_t count_ = 0;
  bool is_eof_ = false;
  std::optional<Error> error_;
  std::size_t buffer_start_ = 0;
  std::size_t buffer_bytes_ = 0;
  std::array<char, kBufferBytes> buffer_;
};

}  // namespace forebay::charm
