// SPDX-License-Identifier: Apache-2.0
// Session, View and ViewSequence: any number of tasks read a declared extent of one file. Agents
// begin to read when the session is opened. Requests are served from a window whose slots are
// reused. docs/guides/views.md has the rules of views.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/future.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace forebay {

namespace read {
class SessionCore;
class HandleAccess;
}  // namespace read

class Session;

/// Yields the next read of the program; no value at the end. Called on one thread of Forebay. Owns
/// what it uses: a call that does not return continues after the session has ended.
using NextRead = std::function<std::optional<ByteRange>()>;
/// Makes a NextRead from the argument of Session::preexecute(). It may read from the session, which
/// its handle does not keep open.
using NextReadFactory =
    std::function<NextRead(const Session& session, std::span<const std::byte> argument)>;

/// A contiguous, read-only part of a session's extent, borrowed until it is released. The bytes
/// stay valid and unchanged until then, even after Session::close(). Release it before its Runtime
/// ends. Move-only; may be released on any thread.
///
/// A View pins its splinters of the window. That never blocks other requests: they get Views with
/// private copies, which are counted.
class FOREBAY_EXPORT [[nodiscard]] View {
 public:
  View() noexcept = default;
  View(View&& other) noexcept { move_from(other); }
  View& operator=(View&& other) noexcept {
    if (this != &other) {
      release();
      move_from(other);
    }
    return *this;
  }
  ~View() { release(); }

  /// The bytes. Empty after release().
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Range of the bytes, from the start of the file.
  ByteRange range() const noexcept { return {offset_, bytes_.size()}; }
  /// True if the bytes are a private copy instead of a part of the window.
  bool is_copy() const noexcept { return copy_ != nullptr; }
  /// Releases the bytes. Further calls do nothing.
  void release() noexcept {
    if (core_) unpin();
    copy_.reset();
    bytes_ = {};
  }

 private:
  friend class read::HandleAccess;
  void unpin() noexcept;
  void move_from(View& other) noexcept {
    bytes_ = other.bytes_;
    offset_ = other.offset_;
    core_ = std::move(other.core_);
    copy_ = std::move(other.copy_);
    other.bytes_ = {};
  }

  std::span<const std::byte> bytes_;
  std::uint64_t offset_ = 0;
  std::shared_ptr<read::SessionCore> core_;  // session of the pinned splinters; null for a copy
  std::unique_ptr<std::byte[]> copy_;
};

/// The reads of a session with Mode::kOnDemand, as they were when the program requested them.
struct PrefetchReport {
  std::uint64_t hits = 0;    ///< all bytes were in memory
  std::uint64_t late = 0;    ///< storage was reading them already
  std::uint64_t misses = 0;  ///< some bytes were not requested before
  std::uint64_t early = 0;   ///< of misses: predicted, read and evicted before the read
  /// Read from storage by prediction or Session::prefetch(); 0 if one agent reads for a node.
  std::uint64_t bytes_pushed = 0;
  std::uint64_t bytes_wasted = 0;  ///< of bytes_pushed: in splinters that no read has used so far
};

/// What a session has done. All counts are totals since it was opened. If one agent reads for a
/// node, bytes read, loads and window memory are those of the node. Bytes served and private copies
/// are those of this rank.
struct SessionReport {
  std::uint64_t bytes_served = 0;      ///< delivered to requests, including gaps within a scattered
                                       ///< request
  std::uint64_t bytes_read = 0;        ///< read from storage, including private copies
  std::uint64_t bytes_from_nodes = 0;  ///< of bytes_read: read by agents of other nodes
  std::uint64_t splinters_loaded = 0;
  std::uint64_t splinters_reread = 0;  ///< loaded again after eviction
  std::uint64_t loads_by_waiters = 0;  ///< loads by blocked threads instead of sleeping, and by
                                       ///< coroutines before they are suspended
  std::uint64_t private_copies = 0;  ///< made: one for each splinter of a read(), one for each View
  std::uint64_t private_copy_bytes = 0;
  std::uint64_t window_bytes = 0;     ///< current size of the window
  std::uint64_t readahead_bytes = 0;  ///< current readahead distance of the agents
  PrefetchReport prefetch = {};
};

class ViewSequence;

/// Identifies a session on every rank of a Runtime. Plain bytes: send them with a task that
/// migrates, and call Runtime::find_session() there.
///
/// A Future cannot migrate: it belongs to the process that made the request, as does the memory
/// that it fills. Take its result or drop it, and request the data again elsewhere.
struct SessionHandle {
  std::uint64_t runtime = 0;
  std::uint64_t number = 0;

  friend constexpr bool operator==(const SessionHandle&, const SessionHandle&) noexcept = default;
};

/// A handle to a read session: small, copyable, usable from any thread. The session is closed with
/// its last handle, or by close(). Offsets count from the start of the file. A request returns
/// exactly its bytes or an Error. A request outside the extent is kOutOfRange; a request of zero
/// bytes is always complete.
class FOREBAY_EXPORT Session {
 public:
  /// The part of the file that this session reads. A size of `kAll` has been replaced by the real
  /// size.
  ByteRange extent() const noexcept;
  /// The complete plan in force. If one agent reads for the ranks of a node, the first rank that
  /// opened the session there decides, whatever this rank requested.
  const ReadPlan& plan() const noexcept;
  const std::string& path() const noexcept;
  /// Identifies this session on other ranks.
  const SessionHandle& handle() const noexcept;

  /// Reads `into.size()` bytes at `offset`. Returns at once. `into` must stay alive until the
  /// Future is finished, cancelled or dropped. It is written only inside calls on that Future, and
  /// inside this call if the data is present.
  Future<ByteCount> read(std::uint64_t offset, std::span<std::byte> into) const;

  /// Reads several ranges as one request. Their bytes are stored one after the other; `into` has
  /// the sum of their sizes.
  Future<ByteCount> read(std::span<const ByteRange> ranges, std::span<std::byte> into) const;

  /// Reads a block of a global array as one request. `into` has the size of the block in bytes.
  Future<ByteCount> read(const Subarray& block, std::span<std::byte> into) const;

  /// The same for any contiguous range of a trivially copyable type: a vector, a std::array, a C
  /// array.
  template <WritableRange R>
  Future<ByteCount> read(std::uint64_t offset, R&& into) const {
    return read(offset, writable_bytes(into));
  }
  template <WritableRange R>
  Future<ByteCount> read(std::span<const ByteRange> ranges, R&& into) const {
    return read(ranges, writable_bytes(into));
  }
  template <WritableRange R>
  Future<ByteCount> read(const Subarray& block, R&& into) const {
    return read(block, writable_bytes(into));
  }

  /// One contiguous View of `range`. Fails with kLimit if `range` is larger than the plan's budget:
  /// use views() then.
  Future<View> view(ByteRange range) const;

  /// Returns a part of the session as a sequence of Views in file order. Each is at most one
  /// splinter long, and available as soon as its bytes are. Without an argument, the whole session;
  /// without a size, up to its end.
  ViewSequence views(Extent part = {}) const;

  /// Hints that `range` will be read soon. Never blocks, never fails.
  void prefetch(ByteRange range) const;

  /// States the coming reads of this thread (before the first read: of the thread that makes it) as
  /// a signature (docs/formats/signature.md), such as
  /// "read {100 x (65536 i, 1024)}". Forebay reads them ahead from now on, in that order, and stops
  /// if the reads differ. Needs Mode::kOnDemand. Fails with kInvalidArgument, naming line and
  /// column of an error in the text.
  Status hint(std::string_view signature) const;
  /// The same for a list, such as the shuffled indexes of a sampler. Copies it.
  Status hint(std::span<const ByteRange> reads) const;

  /// Calls `next_read` on a thread of Forebay, as ReadPlan::pre_execution_mode states. Each call
  /// returns a read that the program will make, or nothing at the end. For reads that depend on
  /// data: the function may itself read from this session. It runs at most 256 reads ahead. It is
  /// not called again once it throws, ends, falls behind the program, or the session is closed.
  /// It owns what it uses: a call that has not returned a second after close() continues. Needs
  /// Mode::kOnDemand; replaces an earlier function.
  Status preexecute(NextRead next_read) const;
  /// The same with a function that Runtime::register_next_reads() has registered by name. With
  /// PreExecutionMode::kAgent it runs in the process of the node's agent, which gets a copy of
  /// `argument`; the call waits until it has started there. Fails with kNotFound if that process
  /// has not registered it.
  Status preexecute(std::string_view name, std::span<const std::byte> argument = {}) const;

  SessionReport report() const;

  /// Ends the session for all handles. Requests in progress get kClosed, unless their bytes
  /// are resident or their private copy has begun; later ones get kClosed. Held Views stay valid.
  /// Data that storage is still reading is discarded when it arrives. Waits for nothing but the
  /// function of preexecute(), and at most a second for it.
  void close() const;

 private:
  friend class File;
  friend class read::HandleAccess;
  explicit Session(std::shared_ptr<read::SessionCore> core);
  Session(std::shared_ptr<read::SessionCore> core, std::shared_ptr<void> close_guard)
      : core_(std::move(core)), close_guard_(std::move(close_guard)) {}
  Future<View> request_view(ByteRange range) const;
  std::shared_ptr<read::SessionCore> core_;
  std::shared_ptr<void> close_guard_;  // closes the session with the last handle
};

/// A range of a session as consecutive Views:
///
///     auto views = session.views(range);
///     while (!views.is_done()) { Result<View> view = co_await views.next(); ... }   // or
///     views.next().wait()
///
/// After an Error, the next call of next() returns the next View. A range outside the session
/// gives one Error, and is_done() is true then.
class FOREBAY_EXPORT ViewSequence {
 public:
  ViewSequence(Session session, ByteRange range)
      : session_(std::move(session)), remaining_(range) {}

  bool is_done() const noexcept { return remaining_.empty(); }
  /// The part that next() has not returned yet.
  ByteRange remaining() const noexcept { return remaining_; }
  /// The next View. Prefetches as many further ones as keep storage busy. Must not be called
  /// when is_done().
  Future<View> next();

  /// Calls `use(const View&)` for each View on this thread and blocks in between. Stops at the
  /// first error.
  template <class F>
  Status for_each(F use) {
    while (!is_done()) {
      Result<View> view = next().wait();
      if (!view) return failure(view.error());
      use(static_cast<const View&>(*view));
    }
    return {};
  }

 private:
  void prefetch_ahead();
  Session session_;
  ByteRange remaining_;
  std::uint64_t prefetched_end_ = 0;  // end of the views that were prefetched
};

}  // namespace forebay
