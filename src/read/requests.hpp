// SPDX-License-Identifier: Apache-2.0
// Requests in progress: the results that Futures of a session hold. Each request iterates over the
// splinters it needs, in file order, takes resident ones, and requests some ahead.
#pragma once

#include <forebay/future.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "read/segment_cursor.hpp"
#include "read/session_core.hpp"

namespace forebay::read {

/// The splinter for which a request waits, in the window or as a private copy. Used by GatherRead
/// and ViewRequest.
class SplinterWait {
 public:
  explicit SplinterWait(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  SessionCore& core() const noexcept { return *core_; }
  const std::shared_ptr<SessionCore>& shared_core() const noexcept { return core_; }

  /// Requests `part`. The priority rises with the number of calls without success.
  Result<Availability> request(SplinterIndex splinter,
                               SplinterPart part,
                               LoadGranularity granularity);
  bool arm(detail::Waiter& waiter);
  void disarm(detail::Waiter& waiter) noexcept;
  bool help(detail::Help how) { return !bypass_read_ && core_->help(request_, how); }
  ErrorDetails describe(std::uint64_t offset) const;

  /// Makes the request wait for a private copy of `range`.
  void start_bypass_read(ByteRange range) {
    request_.sequence = 0;
    bypass_read_ = core_->start_bypass_read(range);
  }
  BypassRead* bypass_read() const noexcept { return bypass_read_.get(); }
  void drop_bypass_read() noexcept { bypass_read_.reset(); }
  void reset_priority() noexcept {
    failed_polls_ = 0;
    request_.sequence = 0;
  }

 private:
  std::shared_ptr<SessionCore> core_;
  SplinterRequest request_;
  std::uint32_t failed_polls_ = 0;
  std::shared_ptr<BypassRead> bypass_read_;
};

/// Copies ranges or blocks into the caller's memory.
class GatherRead final : public detail::PendingResult<ByteCount> {
 public:
  GatherRead(std::shared_ptr<SessionCore> core,
             const SegmentCursor& cursor,
             std::span<std::byte> into);

  bool advance() override;
  bool arm(detail::Waiter& waiter) override { return !is_finished() && wait_.arm(waiter); }
  void disarm(detail::Waiter& waiter) noexcept override { wait_.disarm(waiter); }
  bool help(detail::Help how) override { return wait_.help(how); }
  Executor& executor() const override { return wait_.core().executor(); }
  ErrorDetails describe() const override;
  Result<ByteCount> take() override;

 private:
  bool is_finished() const { return error_.has_value() || copy_cursor_.is_done(); }
  bool copy_from_window();
  bool copy_from_bypass();
  std::uint64_t copy_segments(const ByteRange& held, std::uint64_t limit, const std::byte* bytes);
  SplinterPart consume_splinter(SegmentCursor& cursor, SplinterIndex splinter) const;
  void request_ahead();
  LoadGranularity granularity() const {
    return copy_cursor_.is_scattered() ? LoadGranularity::kExact : wait_.core().granularity();
  }

  SplinterWait wait_;
  SegmentCursor copy_cursor_;          ///< next bytes to copy
  SegmentCursor request_cursor_;       ///< next bytes to request
  SplinterIndex splinter_ = 0;         ///< the splinter at copy_cursor_
  std::uint32_t requested_ahead_ = 0;  ///< number of splinters requested beyond splinter_
  std::span<std::byte> into_;
  std::optional<Error> error_;
};

/// Pins the splinters of one range and returns them as one contiguous View.
class ViewRequest final : public detail::PendingResult<View> {
 public:
  ViewRequest(std::shared_ptr<SessionCore> core, ByteRange range);
  ViewRequest(const ViewRequest&) = delete;
  ViewRequest& operator=(const ViewRequest&) = delete;
  ~ViewRequest() override { unpin_all(); }

  bool advance() override;
  bool arm(detail::Waiter& waiter) override { return !is_finished_ && wait_.arm(waiter); }
  void disarm(detail::Waiter& waiter) noexcept override { wait_.disarm(waiter); }
  bool help(detail::Help how) override { return wait_.help(how); }
  Executor& executor() const override { return wait_.core().executor(); }
  ErrorDetails describe() const override { return wait_.describe(range_.offset); }
  Result<View> take() override;

 private:
  void unpin_all() noexcept;
  void request_remaining();
  bool finish(std::optional<Error> error);
  SplinterPart part(SplinterIndex splinter) const {
    return wait_.core().geometry().part_of(range_, splinter);
  }

  SplinterWait wait_;
  ByteRange range_;
  SplinterIndex first_;
  SplinterIndex last_;
  SplinterIndex next_;  ///< all splinters before it are pinned
  bool has_requested_remaining_ = false;
  bool is_finished_ = false;
  std::optional<Error> error_;
};

/// Creates Sessions and Views, and releases Views; the only class with access to their members.
class HandleAccess {
 public:
  static Session make_session(std::shared_ptr<SessionCore> core) {
    return Session(std::move(core));
  }
  /// Another handle on a session that has handles already.
  static Session make_session(std::shared_ptr<SessionCore> core, std::shared_ptr<void> guard) {
    return Session(std::move(core), std::move(guard));
  }
  static const std::shared_ptr<void>& close_guard(const Session& session) {
    return session.close_guard_;
  }
  /// A View of pinned splinters; it takes over their pins. `bytes` is the start of the range.
  static View make_window_view(const std::shared_ptr<SessionCore>& core,
                               ByteRange range,
                               const std::byte* bytes);
  /// A View that owns `memory`; `bytes`, inside it, is the start of the range.
  static View make_copied_view(ByteRange range,
                               std::unique_ptr<std::byte[]> memory,
                               const std::byte* bytes);
  static void release(SessionCore& core, ByteRange range) noexcept;
};

}  // namespace forebay::read
