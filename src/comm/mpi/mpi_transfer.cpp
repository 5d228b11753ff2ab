// SPDX-License-Identifier: Apache-2.0
// Requests of MPI, and how each ends.
#include "comm/mpi/mpi_transfer.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/mpi/pieces.hpp"

namespace forebay::comm {

namespace {

enum class Direction : std::uint8_t { kSend, kReceive };

/// What was asked of MPI for one piece.
struct Part {
  MPI_Request request = MPI_REQUEST_NULL;
  int size = 0;
};

Error wrong_size(const ErrorDetails& what, int got, int announced) {
  ErrorDetails details = what;
  details.kind = ErrorClass::kInvalidArgument;
  details.cause = "the message has " + std::to_string(got) + " bytes where " +
                  std::to_string(announced) + " were announced";
  return Error(std::move(details));
}

class MpiTransfer final : public TransferWork {
 public:
  MpiTransfer(std::shared_ptr<const MpiGroup> group, Direction direction)
      : group_(std::move(group)), direction_(direction) {}
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;
  ~MpiTransfer() override;

  /// Starts a piece: `start(request)` is a call of MPI.
  template <class Start>
  Status add(int size, Start start) {
    Part part{.size = size};
    Status started = group_->call(what(), [&] { return start(&part.request); });
    if (started) parts_.push_back(part);
    return started;
  }

  Result<bool> test() override;
  Status wait() override;

 private:
  ErrorDetails what() const {
    return {.operation = direction_ == Direction::kSend ? "send" : "receive"};
  }
  bool is_over() const noexcept { return done_ == parts_.size(); }
  Result<bool> test_next();
  Status wait_next();
  Status arrived(int code, const MPI_Status& status);
  void take_back_rest();

  std::shared_ptr<const MpiGroup> group_;
  const Direction direction_;
  std::vector<Part> parts_;
  std::size_t done_ = 0;  ///< parts before this one are over
};

/// One part is over: well or not, and with as many bytes as were announced?
Status MpiTransfer::arrived(int code, const MPI_Status& status) {
  const Part& part = parts_[done_++];
  if (code != MPI_SUCCESS) return failure(mpi_error(what(), code));
  if (direction_ == Direction::kSend) return {};
  int got = 0;
  MPI_Get_count(&status, MPI_BYTE, &got);
  if (got == part.size) return {};
  return failure(wrong_size(what(), got, part.size));
}

Result<bool> MpiTransfer::test_next() {
  const Result<MpiTurn> turn = MpiTurn::take(group_->support, what());
  if (!turn) return failure(turn.error());
  int over = 0;
  MPI_Status status;
  const int code = MPI_Test(&parts_[done_].request, &over, &status);
  if (code == MPI_SUCCESS && over == 0) return false;
  if (Status outcome = arrived(code, status); !outcome) {
    return failure(outcome.error());
  }
  return true;
}

Result<bool> MpiTransfer::test() {
  while (!is_over()) {
    const Result<bool> over = test_next();
    if (!over || !*over) return over;
  }
  return true;
}

Status MpiTransfer::wait_next() {
  const Result<MpiTurn> turn = MpiTurn::take(group_->support, what());
  if (!turn) return failure(turn.error());
  MPI_Status status;
  const int code = MPI_Wait(&parts_[done_].request, &status);
  return arrived(code, status);
}

Status MpiTransfer::wait() {
  // Where our calls take turns, one that waits must let others have theirs.
  const bool takes_turns = group_->support == ThreadSupport::kSerialized;
  while (!is_over()) {
    if (takes_turns) {
      const Result<bool> over = test();
      if (!over) return failure(over.error());
      if (!*over) std::this_thread::yield();
    } else if (Status next = wait_next(); !next) {
      return next;
    }
  }
  return {};
}

void MpiTransfer::take_back_rest() {
  const Result<MpiTurn> turn = MpiTurn::take(group_->support, what());
  if (!turn) return;  // MPI is gone, or not ours to call: its requests end with it
  for (; done_ < parts_.size(); ++done_) {
    MPI_Request& request = parts_[done_].request;
    if (request == MPI_REQUEST_NULL) continue;
    if (direction_ == Direction::kReceive) MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

MpiTransfer::~MpiTransfer() {
  if (!is_over()) take_back_rest();
}

template <class Start>
Transfer start_all(std::unique_ptr<MpiTransfer> work, const Pieces& pieces, Start start) {
  for (std::uint64_t i = 0; i < pieces.count(); ++i) {
    const Piece piece = pieces.at(i);
    const Status started =
        work->add(piece.size, [&](MPI_Request* request) { return start(piece, request); });
    if (!started) return Transfer(started.error());
  }
  return Transfer(std::move(work));
}

}  // namespace

Transfer start_send(std::shared_ptr<const MpiGroup> group,
                    std::span<const std::byte> bytes,
                    Rank to,
                    Tag tag) {
  const Pieces pieces(bytes.size(), group->piece_bytes);
  const MPI_Comm handle = group->handle;
  const auto start = [=](Piece piece, MPI_Request* request) {
    return MPI_Isend(bytes.data() + piece.first, piece.size, MPI_BYTE, static_cast<int>(to.number),
                     static_cast<int>(tag.number), handle, request);
  };
  return start_all(std::make_unique<MpiTransfer>(std::move(group), Direction::kSend), pieces,
                   start);
}

Transfer start_receive(std::shared_ptr<const MpiGroup> group,
                       std::span<std::byte> into,
                       Rank from,
                       Tag tag) {
  const Pieces pieces(into.size(), group->piece_bytes);
  const MPI_Comm handle = group->handle;
  const auto start = [=](Piece piece, MPI_Request* request) {
    return MPI_Irecv(into.data() + piece.first, piece.size, MPI_BYTE, static_cast<int>(from.number),
                     static_cast<int>(tag.number), handle, request);
  };
  return start_all(std::make_unique<MpiTransfer>(std::move(group), Direction::kReceive), pieces,
                   start);
}

}  // namespace forebay::comm
