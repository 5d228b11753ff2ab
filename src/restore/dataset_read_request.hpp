// SPDX-License-Identifier: Apache-2.0
// DatasetReadRequest: a request to a stored dataset in progress. It keeps several loads in flight
// and takes them in file order. It verifies each piece while it is in the cache, and copies it to
// its destination. Meanwhile the storage works on the next loads.
#pragma once

#include <forebay/future.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "read/requests.hpp"
#include "restore/load_cursor.hpp"
#include "restore/step_reader_core.hpp"

namespace forebay::restore {

class DatasetReadRequest final : public detail::PendingResult<ByteCount> {
 public:
  /// `into` has list.bytes bytes, or is the memory in which a MemoryLayout places them.
  DatasetReadRequest(std::shared_ptr<const StepReaderCore> step,
                     BlockRequestList list,
                     std::span<std::byte> into);

  /// Issues as many loads as fit, and takes the bytes that are present if that completes a small
  /// request. Returns true if the request is finished.
  bool start();

  bool advance() override;
  bool arm(detail::Waiter& waiter) override;
  void disarm(detail::Waiter& waiter) noexcept override;
  bool help(detail::Help how) override;
  Executor& executor() const override { return step_->sessions().executor(); }
  ErrorDetails describe() const override;
  Result<ByteCount> take() override;

 private:
  using Memory = std::unique_ptr<std::byte[]>;

  /// A load in flight, and its resources.
  struct InFlightLoad {
    explicit InFlightLoad(PieceLoad requested) : load(std::move(requested)) {}
    InFlightLoad(InFlightLoad&& other) noexcept = default;
    InFlightLoad& operator=(InFlightLoad&&) = delete;
    ~InFlightLoad() {
      if (session) session->release(load.stored.size);
    }

    PieceLoad load;
    std::shared_ptr<FileSession> session;  ///< null: there was no memory for a session
    Memory scratch;                        ///< null: the bytes are read into their destination
    std::span<std::byte> bytes;  ///< memory of the load: the scratch, or the caller's memory
    std::unique_ptr<read::GatherRead> read;                     ///< null without a session
    std::optional<PieceCache::Loading> loading = std::nullopt;  ///< of a piece to be cached
  };
  /// A request without loads in flight must make progress even if the session is busy with other
  /// requests.
  enum class IssueMode : std::uint8_t { kIfRoom, kAlways };

  bool is_finished() const {
    return error_.has_value() || (in_flight_.empty() && !next_ && cursor_.is_done());
  }
  void issue_loads(IssueMode mode);
  bool issue_load(IssueMode mode);
  bool take_cached(PieceKey key);
  bool issue_without_session(IssueMode mode, const Error& why);
  Status read_blocking(const InFlightLoad& in_flight) const;
  void assign_buffer(InFlightLoad& in_flight);
  Status complete_load(InFlightLoad& in_flight);
  Status process_piece(const PieceRequest& piece, std::span<std::byte> stored);
  Status verify_piece(const PieceRequest& piece,
                      const format::Block& block,
                      const format::PieceBytes& bytes);
  void copy_out(const PieceRequest& piece, ByteRange held, const std::byte* bytes);
  void swap_byte_order(std::span<std::byte> bytes) const;
  void cache_piece(InFlightLoad& in_flight);
  std::optional<PieceKey> cache_key_of(const PieceLoad& load) const;
  bool is_read_in_place(const PieceLoad& load) const;
  std::byte* destination_of(const PieceRequest& piece) const;
  void fail(const Error& error);
  Error make_error(const PieceRequest& piece, const Error& error) const;
  Memory acquire_scratch();

  const std::shared_ptr<const StepReaderCore> step_;
  const BlockRequestList list_;
  const std::span<std::byte> into_;
  const PieceReadMode read_mode_;
  LoadCursor cursor_;
  const bool is_sparse_;  ///< most bytes between loads are not requested
  comm::ConcurrencyLimiter::Permit permit_;
  std::optional<PieceLoad> next_;
  std::deque<InFlightLoad> in_flight_;
  std::vector<Memory> free_scratch_;
  Memory raw_;  ///< for a decompressed piece of which only a part is requested
  std::optional<Error> error_;
};

}  // namespace forebay::restore
