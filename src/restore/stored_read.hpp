// SPDX-License-Identifier: Apache-2.0
// StoredRead: a request to a stored dataset under way. It keeps several loads asked for, takes them
// in the order of the files, checks each piece while it is warm and brings it where it belongs; the
// storage works on the next loads meanwhile.
#pragma once

#include <forebay/future.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "read/requests.hpp"
#include "restore/load.hpp"
#include "restore/step_core.hpp"

namespace forebay::restore {

class StoredRead final : public detail::PendingResult<ByteCount> {
 public:
  /// `into` has list.bytes.
  StoredRead(std::shared_ptr<const StepCore> step, WantList list, std::span<std::byte> into);

  /// Asks for as much as there is room for, and takes what is there if that is all of it. True if
  /// the request is finished then.
  bool begin();

  bool advance() override;
  bool arm(detail::Waiter& waiter) override;
  void disarm(detail::Waiter& waiter) noexcept override;
  bool help(detail::Help how) override;
  Executor& executor() const override { return step_->sessions().executor(); }
  ErrorDetails describe() const override;
  Result<ByteCount> take() override;

 private:
  using Memory = std::unique_ptr<std::byte[]>;

  /// A load that was asked for, and what it needs until it is taken.
  struct Flight {
    explicit Flight(Load wanted) : load(std::move(wanted)) {}
    Flight(Flight&& other) noexcept = default;
    Flight& operator=(Flight&&) = delete;
    ~Flight() {
      if (session) session->give_back(load.stored.size);
    }

    Load load;
    std::shared_ptr<FileSession> session;  ///< null: there was no memory for one
    Memory scratch;                        ///< null: the bytes go where they belong
    std::span<std::byte> bytes;  ///< what is read: in the scratch, or in the caller's memory
    std::unique_ptr<read::GatherRead> read;  ///< null without a session
  };
  /// A request that has nothing under way must go on even if the session is busy with others.
  enum class Start : std::uint8_t { kIfRoom, kAlways };

  bool finished() const {
    return error_.has_value() || (flights_.empty() && !next_ && cursor_.done());
  }
  void fill(Start start);
  bool take_off(Start start);
  bool take_without_session(Start start, const Error& why);
  Status read_now(const Flight& flight) const;
  void give_memory(Flight& flight);
  Status land(Flight& flight);
  Status take_piece(const PieceWant& piece, std::span<std::byte> stored);
  Status check(const PieceWant& piece, const format::Block& block, const format::PieceBytes& bytes);
  void deliver(const PieceWant& piece, ByteRange held, const std::byte* bytes);
  void swap(std::span<std::byte> bytes) const;
  bool goes_straight(const Load& load) const;
  std::byte* place_of(const PieceWant& piece) const;
  void fail(const Error& error);
  Error failed(const PieceWant& piece, const Error& error) const;
  Memory scratch();

  const std::shared_ptr<const StepCore> step_;
  const WantList list_;
  const std::span<std::byte> into_;
  const Extents extents_;
  LoadCursor cursor_;
  const bool exact_;  ///< most of what lies between loads is not wanted
  comm::Turns::Turn turn_;
  std::optional<Load> next_;
  std::deque<Flight> flights_;
  std::vector<Memory> spare_;
  Memory raw_;  ///< for a piece that is wanted in part, once it was decompressed
  std::optional<Error> error_;
};

}  // namespace forebay::restore
