// SPDX-License-Identifier: Apache-2.0
// Requests under way: what a Future of a session holds. Each one walks over the splinters it needs,
// in file order, takes those that are there and asks for some ahead.
#pragma once

#include <forebay/future.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "read/core.hpp"
#include "read/extents.hpp"

namespace forebay::read {

/// Which splinter a request waits for, and how it does that: the part that copies and views share.
class SplinterWait {
 public:
  explicit SplinterWait(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  SessionCore& core() const noexcept { return *core_; }
  const std::shared_ptr<SessionCore>& core_pointer() const noexcept { return core_; }

  /// Asks for `part`, more urgently each time nothing came of it.
  Result<Presence> ask(SplinterIndex splinter, ValidBytes part, Precision precision);
  bool arm(detail::Waiter& waiter);
  void disarm(detail::Waiter& waiter) noexcept;
  bool help(detail::Help how) { return !copy_ && core_->help(need_, how); }
  ErrorDetails describe(std::uint64_t offset) const;

  /// From now on the request waits for a private copy of `range`.
  void read_privately(ByteRange range) {
    need_.number = 0;
    copy_ = core_->read_privately(range);
  }
  PrivateRead* copy() const noexcept { return copy_.get(); }
  void drop_copy() noexcept { copy_.reset(); }
  void progressed() noexcept {
    fruitless_ = 0;
    need_.number = 0;
  }

 private:
  std::shared_ptr<SessionCore> core_;
  Need need_;
  std::uint32_t fruitless_ = 0;
  std::shared_ptr<PrivateRead> copy_;
};

/// Copies ranges or blocks into the caller's memory.
class GatherRead final : public detail::PendingResult<ByteCount> {
 public:
  GatherRead(std::shared_ptr<SessionCore> core,
             const ExtentCursor& cursor,
             std::span<std::byte> into);

  bool advance() override;
  bool arm(detail::Waiter& waiter) override { return !finished() && wait_.arm(waiter); }
  void disarm(detail::Waiter& waiter) noexcept override { wait_.disarm(waiter); }
  bool help(detail::Help how) override { return wait_.help(how); }
  Executor& executor() const override { return wait_.core().executor(); }
  ErrorDetails describe() const override;
  Result<ByteCount> take() override;

 private:
  bool finished() const { return error_.has_value() || take_.done(); }
  bool take_splinter();
  bool take_copy();
  std::uint64_t copy_pieces(const ByteRange& held, std::uint64_t limit, const std::byte* bytes);
  ValidBytes hull_ahead(ExtentCursor& cursor, SplinterIndex splinter) const;
  void ask_ahead();
  Precision precision() const { return take_.scattered() ? Precision::kExact : Precision::kWhole; }

  SplinterWait wait_;
  ExtentCursor take_;              ///< what is to be copied next
  ExtentCursor ask_;               ///< what is to be asked for next
  SplinterIndex splinter_ = 0;     ///< where take_ is
  std::uint32_t asked_count_ = 0;  ///< splinters asked for beyond that one
  std::span<std::byte> into_;
  std::optional<Error> error_;
};

/// Pins the splinters of one range and hands them out as one contiguous View.
class ViewRequest final : public detail::PendingResult<View> {
 public:
  ViewRequest(std::shared_ptr<SessionCore> core, ByteRange range);
  ViewRequest(const ViewRequest&) = delete;
  ViewRequest& operator=(const ViewRequest&) = delete;
  ~ViewRequest() override { unpin_all(); }

  bool advance() override;
  bool arm(detail::Waiter& waiter) override { return !finished_ && wait_.arm(waiter); }
  void disarm(detail::Waiter& waiter) noexcept override { wait_.disarm(waiter); }
  bool help(detail::Help how) override { return wait_.help(how); }
  Executor& executor() const override { return wait_.core().executor(); }
  ErrorDetails describe() const override { return wait_.describe(range_.offset); }
  Result<View> take() override;

 private:
  void unpin_all() noexcept;
  void ask_for_rest();
  bool settle(std::optional<Error> error);
  ValidBytes part(SplinterIndex splinter) const {
    return wait_.core().geometry().part_of(range_, splinter);
  }

  SplinterWait wait_;
  ByteRange range_;
  SplinterIndex first_;
  SplinterIndex last_;
  SplinterIndex next_;  ///< those before it are pinned
  bool asked_ = false;
  bool finished_ = false;
  std::optional<Error> error_;
};

/// Makes Sessions and Views, and releases the latter; the only one who sees inside them.
class HandleAccess {
 public:
  static Session session(std::shared_ptr<SessionCore> core) { return Session(std::move(core)); }
  /// One more handle on a session that has some.
  static Session session(std::shared_ptr<SessionCore> core, std::shared_ptr<void> closer) {
    return Session(std::move(core), std::move(closer));
  }
  static const std::shared_ptr<void>& closer(const Session& session) { return session.closer_; }
  /// A View of pinned splinters, whose pins it takes over. `bytes` is where the range starts.
  static View of_window(const std::shared_ptr<SessionCore>& core,
                        ByteRange range,
                        const std::byte* bytes);
  /// A View that owns `memory`, in which the range starts at `bytes`.
  static View of_copy(ByteRange range, std::unique_ptr<std::byte[]> memory, const std::byte* bytes);
  static void release(SessionCore& core, ByteRange range) noexcept;
};

}  // namespace forebay::read
