// SPDX-License-Identifier: Apache-2.0
// Session, View and Views: reading a declared extent of one file from any number of tasks. Agents
// start to read when the session is made; requests are answered from a window of reused splinters.
// docs/guides/views.md explains the rules of views.
#pragma once

#include <forebay/future.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace forebay {

namespace read {
class SessionCore;
class HandleAccess;
}  // namespace read

/// A borrowed, contiguous, read-only piece of a session's extent. Its bytes stay valid and
/// unchanged until the View is released, even if the Session is closed meanwhile; it must be
/// released before its Runtime ends. Move-only. Holding a View pins its splinters; that never
/// blocks others (they get private copies instead, which are counted). May be released on any
/// thread.
class [[nodiscard]] View {
 public:
  View() noexcept = default;
  View(View&& other) noexcept { take(other); }
  View& operator=(View&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~View() { release(); }

  /// The bytes; empty after release().
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Where they lie, from the start of the file.
  ByteRange range() const noexcept { return {offset_, bytes_.size()}; }
  /// True if the bytes are a private copy of this View instead of a piece of the window.
  bool is_copy() const noexcept { return copy_ != nullptr; }
  /// Gives the bytes back; further calls do nothing.
  void release() noexcept {
    if (core_) unpin();
    copy_.reset();
    bytes_ = {};
  }

 private:
  friend class read::HandleAccess;
  void unpin() noexcept;
  void take(View& other) noexcept {
    bytes_ = other.bytes_;
    offset_ = other.offset_;
    core_ = std::move(other.core_);
    copy_ = std::move(other.copy_);
    other.bytes_ = {};
  }

  std::span<const std::byte> bytes_;
  std::uint64_t offset_ = 0;
  std::shared_ptr<read::SessionCore> core_;  // whose splinters are pinned; null for a copy
  std::unique_ptr<std::byte[]> copy_;
};

/// What a session did so far. All counts are totals since it was opened. Where one agent reads for
/// a node, what was read, loaded and held is that of the node; what was served, and copies, are
/// those of this rank.
struct SessionReport {
  std::uint64_t bytes_served = 0;      ///< handed out; gaps within a scattered request count
  std::uint64_t bytes_read = 0;        ///< read from storage, private copies included
  std::uint64_t bytes_from_nodes = 0;  ///< of these, read by agents of other nodes
  std::uint64_t splinters_loaded = 0;
  std::uint64_t splinters_reread = 0;  ///< loaded again after they had been dropped
  std::uint64_t loads_by_waiters = 0;  ///< loads a blocked task did itself instead of sleeping
  std::uint64_t private_copies = 0;    ///< requests that could not be answered from the window
  std::uint64_t private_copy_bytes = 0;
  std::uint64_t window_bytes = 0;  ///< memory of the window now
  std::uint64_t eager_bytes = 0;   ///< how far agents read ahead now
};

class Views;

/// Names a session on every rank of a Runtime: plain bytes, to be sent along with a task that moves
/// (Runtime::session makes a Session of it there). A Future does not move: it belongs to the
/// process that asked, as does the memory it fills; take its result, or drop it, and ask again
/// elsewhere.
struct SessionHandle {
  std::uint64_t runtime = 0;
  std::uint64_t number = 0;

  friend constexpr bool operator==(const SessionHandle&, const SessionHandle&) noexcept = default;
};

/// A handle on a read session: small, copyable, usable from any thread. The session is closed with
/// its last handle or by close(). Offsets count from the start of the file. A request gets exactly
/// the bytes it asks for or an Error; asking outside the extent is kOutOfRange; zero bytes are
/// always there.
class Session {
 public:
  /// The part of the file this session reads; `all` in the request has become a number.
  ByteRange extent() const noexcept;
  /// What is in force, complete. Where one agent reads for the ranks of a node, it is the plan of
  /// the first of them that opened the session, whatever this one asked for.
  const ReadPlan& plan() const noexcept;
  const std::string& path() const noexcept;
  /// What to send to another rank.
  const SessionHandle& handle() const noexcept;

  /// Reads `into.size()` bytes at `offset`. Returns at once. `into` must stay alive until the
  /// Future is finished, cancelled or dropped; it is written only inside calls on that Future (and
  /// this one, if the data is there).
  Future<ByteCount> read(std::uint64_t offset, std::span<std::byte> into) const;

  /// Several ranges as one request; their bytes are placed one after the other. `into` has the sum
  /// of their sizes.
  Future<ByteCount> read(std::span<const ByteRange> ranges, std::span<std::byte> into) const;

  /// A block of a global array as one request. `into` has the size of the block in bytes.
  Future<ByteCount> read(const Subarray& block, std::span<std::byte> into) const;

  /// The same for arrays of any trivially copyable type.
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, std::byte> &&
             !std::is_const_v<T>)
  Future<ByteCount> read(std::uint64_t offset, std::span<T> into) const {
    return read(offset, std::as_writable_bytes(into));
  }
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, std::byte> &&
             !std::is_const_v<T>)
  Future<ByteCount> read(const Subarray& block, std::span<T> into) const {
    return read(block, std::as_writable_bytes(into));
  }

  /// One contiguous View of `range`, which must not be larger than the plan's budget (kLimit
  /// otherwise: use views()).
  Future<View> view(ByteRange range) const;

  /// A part of the session piece by piece, in file order, each piece as soon as it is there and at
  /// most one splinter long. Without an argument all of it; without a size, up to its end.
  Views views(Extent part = {}) const;

  /// Tells the agents that `range` will be wanted soon. A hint: never blocks, never fails.
  void prefetch(ByteRange range) const;

  SessionReport report() const;

  /// Ends the session for all handles: requests under way and later ones get kClosed, held Views
  /// stay valid. Waits for nothing; reads that storage is working on are dropped when they arrive.
  void close() const;

 private:
  friend class File;
  friend class read::HandleAccess;
  explicit Session(std::shared_ptr<read::SessionCore> core);
  Session(std::shared_ptr<read::SessionCore> core, std::shared_ptr<void> closer)
      : core_(std::move(core)), closer_(std::move(closer)) {}
  Future<View> request_view(ByteRange range) const;
  std::shared_ptr<read::SessionCore> core_;
  std::shared_ptr<void> closer_;  // closes the session with the last handle
};

/// A range of a session, piece by piece:
///
///     auto pieces = session.views(range);
///     while (!pieces.done()) { Result<View> piece = co_await pieces.next(); ... }   // or
///     pieces.next().wait()
///
/// After an Error the following next() gives the following piece; a range that leaves the session
/// gives one Error and is done.
class Views {
 public:
  Views(Session session, ByteRange range) : session_(std::move(session)), rest_(range) {}

  bool done() const noexcept { return rest_.empty(); }
  /// What has not been handed out yet.
  ByteRange rest() const noexcept { return rest_; }
  /// The next piece; asks early for as many after it as keep storage busy. Not when done().
  Future<View> next();

  /// Calls `use(const View&)` for each piece on this thread, blocking in between; stops at the
  /// first error.
  template <class F>
  Status for_each(F use) {
    while (!done()) {
      Result<View> piece = next().wait();
      if (!piece) return failure(piece.error());
      use(static_cast<const View&>(*piece));
    }
    return {};
  }

 private:
  void ask_ahead();
  Session session_;
  ByteRange rest_;
  std::uint64_t asked_end_ = 0;  // pieces before it were asked for
};

}  // namespace forebay
