// SPDX-License-Identifier: Apache-2.0
// The stream buffer holds one View of at most one splinter, and requests the bytes behind it early.
// Reads longer than the rest of the View are copied directly into the caller's memory.
#include <forebay/istream.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace forebay {

namespace {

/// How far streams request ahead, in splinters.
constexpr std::uint64_t kPrefetchSplinters = 4;

ByteRange clip(const Session& session, ByteRange range) {
  return intersect(session.extent(), range);
}

/// Requests the bytes that follow `position`, once for each splinter of progress.
void prefetch_ahead(const Session& session,
                    const ByteRange& range,
                    std::uint64_t position,
                    std::uint64_t& prefetched_until) {
  const std::uint64_t unit = session.plan().tuning.splinter_bytes;
  const std::uint64_t horizon = std::min(range.end(), position + kPrefetchSplinters * unit);
  const bool moved =
      prefetched_until < position || prefetched_until > horizon + kPrefetchSplinters * unit;
  if (moved) prefetched_until = position;
  if (horizon < prefetched_until + unit && horizon != range.end()) return;
  if (horizon <= prefetched_until) return;
  session.prefetch({prefetched_until, horizon - prefetched_until});
  prefetched_until = horizon;
}

}  // namespace

SessionStreamBuffer::SessionStreamBuffer(Session session, ByteRange range)
    : session_(std::move(session)),
      range_(clip(session_, range)),
      view_end_(range_.offset),
      prefetched_until_(range_.offset) {}

SessionStreamBuffer::~SessionStreamBuffer() = default;

std::uint64_t SessionStreamBuffer::position() const noexcept {
  return view_end_ - static_cast<std::uint64_t>(egptr() - gptr());
}

void SessionStreamBuffer::release_view() {
  view_.release();
  setg(nullptr, nullptr, nullptr);
}

bool SessionStreamBuffer::refill() {
  const std::uint64_t at = position();
  release_view();
  view_end_ = at;
  if (at >= range_.end() || error_) return false;
  const std::uint64_t unit = session_.plan().tuning.splinter_bytes;
  const std::uint64_t end = std::min(range_.end(), (at / unit + 1) * unit);
  Future<View> next = session_.view({at, end - at});
  prefetch_ahead(session_, range_, end, prefetched_until_);
  Result<View> view = next.wait();
  if (!view) {
    error_ = view.error();
    return false;
  }
  view_ = std::move(*view);
  view_end_ = end;
  // std::streambuf takes pointers to non-const. Nothing writes through them: pbackfail() does not
  // store its character.
  char* const first = const_cast<char*>(reinterpret_cast<const char*>(view_.bytes().data()));
  setg(first, first, first + view_.bytes().size());
  return true;
}

SessionStreamBuffer::int_type SessionStreamBuffer::underflow() {
  if (gptr() == egptr() && !refill()) {
    if (error_) throw std::ios_base::failure(error_->message());
    return traits_type::eof();
  }
  return traits_type::to_int_type(*gptr());
}

/// At the start of the get area, moves back into the preceding splinter. The bytes cannot be
/// changed.
SessionStreamBuffer::int_type SessionStreamBuffer::pbackfail(int_type character) {
  const std::uint64_t at = position();
  if (at == range_.offset) return traits_type::eof();
  if (!seek_to(at - 1) || (gptr() == egptr() && !refill())) return traits_type::eof();
  const int_type before = traits_type::to_int_type(*gptr());
  const bool any = traits_type::eq_int_type(character, traits_type::eof());
  if (any || traits_type::eq_int_type(character, before)) return before;
  seek_to(at);
  return traits_type::eof();
}

std::streamsize SessionStreamBuffer::xsgetn(char* into, std::streamsize count) {
  std::streamsize done = 0;
  while (done < count) {
    if (gptr() == egptr() && !refill()) {
      // std::istream turns the exception into badbit; without it a failure would look like the end
      // of the file.
      if (error_) throw std::ios_base::failure(error_->message());
      break;
    }
    const std::streamsize part = std::min<std::streamsize>(count - done, egptr() - gptr());
    std::memcpy(into + done, gptr(), static_cast<std::size_t>(part));
    setg(eback(), gptr() + part, egptr());
    done += part;
  }
  return done;
}

bool SessionStreamBuffer::seek_to(std::uint64_t target) {
  if (target > range_.end() || target < range_.offset) return false;
  error_.reset();  // the error concerned the former position
  const std::uint64_t view_begin = view_end_ - static_cast<std::uint64_t>(egptr() - eback());
  if (target >= view_begin && target <= view_end_) {
    setg(eback(), eback() + (target - view_begin), egptr());
    return true;
  }
  release_view();
  view_end_ = target;
  return true;
}

SessionStreamBuffer::pos_type SessionStreamBuffer::seekoff(off_type offset,
                                                           std::ios_base::seekdir from,
                                                           std::ios_base::openmode mode) {
  if ((mode & std::ios_base::in) == 0) return pos_type(off_type(-1));
  std::uint64_t base = range_.offset;
  if (from == std::ios_base::cur) base = position();
  if (from == std::ios_base::end) base = range_.end();
  // wraps for negative offsets, as intended
  const std::uint64_t target = base + static_cast<std::uint64_t>(offset);
  if (!seek_to(target)) return pos_type(off_type(-1));
  return pos_type(static_cast<off_type>(target - range_.offset));
}

SessionStreamBuffer::pos_type SessionStreamBuffer::seekpos(pos_type target,
                                                           std::ios_base::openmode mode) {
  return seekoff(off_type(target), std::ios_base::beg, mode);
}

std::streamsize SessionStreamBuffer::showmanyc() { return position() < range_.end() ? 0 : -1; }

istream::istream(Session session) : istream(session, session.extent()) {}

istream::istream(Session session, ByteRange range)
    : std::istream(nullptr), buffer_(std::move(session), range) {
  rdbuf(&buffer_);
}

AsyncInputStream::AsyncInputStream(Session session) : AsyncInputStream(session, session.extent()) {}

AsyncInputStream::AsyncInputStream(Session session, ByteRange range)
    : session_(std::move(session)), range_(clip(session_, range)) {}

Future<ByteCount> AsyncInputStream::read(std::span<std::byte> into) {
  const std::uint64_t at = range_.offset + position_;
  last_count_ = std::min<std::uint64_t>(into.size(), range_.end() - at);
  eof_ = last_count_ < into.size();
  position_ += last_count_;
  Future<ByteCount> read = session_.read(at, into.first(last_count_));
  return read;
}

Status AsyncInputStream::seekg(std::int64_t offset, std::ios_base::seekdir from) {
  std::uint64_t base = 0;
  if (from == std::ios_base::cur) base = position_;
  if (from == std::ios_base::end) base = range_.size;
  const std::uint64_t target = base + static_cast<std::uint64_t>(offset);
  if (target > range_.size) {
    return failure({.kind = ErrorClass::kOutOfRange,
                    .operation = "seek",
                    .path = session_.path(),
                    .cause = "position " + std::to_string(target) + " of a stream of " +
                             std::to_string(range_.size) + " bytes"});
  }
  position_ = target;
  eof_ = false;
  return {};
}

}  // namespace forebay
