// SPDX-License-Identifier: Apache-2.0
// One MPI request for each part; parts complete in order.
#include "comm/mpi/mpi_operation.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/mpi/transfer_parts.hpp"

namespace forebay::comm {

namespace {

enum class Direction : std::uint8_t { kSend, kReceive };

/// The MPI request of one part.
struct PendingPart {
  MPI_Request request = MPI_REQUEST_NULL;
  int size = 0;
};

Error size_mismatch(const ErrorDetails& what, int got, int expected) {
  ErrorDetails details = what;
  details.kind = ErrorClass::kInvalidArgument;
  details.cause = "the message has " + std::to_string(got) + " bytes where " +
                  std::to_string(expected) + " are expected";
  return Error(std::move(details));
}

class MpiOperation final : public MessageOperation {
 public:
  MpiOperation(std::shared_ptr<const MpiCommHandle> mpi_comm, Direction direction)
      : mpi_comm_(std::move(mpi_comm)), direction_(direction) {}
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;
  ~MpiOperation() override;

  /// Starts the next part by `start(request)`, a call of MPI.
  template <class Start>
  Status add(int size, Start start) {
    PendingPart pending_part{.size = size};
    Status started = mpi_comm_->call(error_details(), [&] { return start(&pending_part.request); });
    if (started) pending_parts_.push_back(pending_part);
    return started;
  }

  Result<bool> test() override;
  Status wait() override;

 private:
  ErrorDetails error_details() const {
    return {.operation = direction_ == Direction::kSend ? "send" : "receive"};
  }
  bool is_complete() const noexcept { return completed_ == pending_parts_.size(); }
  Result<bool> test_next();
  Status wait_next();
  Status complete_part(int code, const MPI_Status& status);
  void cancel_remaining();

  std::shared_ptr<const MpiCommHandle> mpi_comm_;
  const Direction direction_;
  std::vector<PendingPart> pending_parts_;
  std::size_t completed_ = 0;  ///< parts before this one are complete
};

/// Counts the next part as complete. Returns its MPI error, or an Error if its size is wrong.
Status MpiOperation::complete_part(int code, const MPI_Status& status) {
  const PendingPart& pending_part = pending_parts_[completed_++];
  if (code != MPI_SUCCESS) return failure(mpi_error(error_details(), code));
  if (direction_ == Direction::kSend) return {};
  int got = 0;
  MPI_Get_count(&status, MPI_BYTE, &got);
  if (got == pending_part.size) return {};
  return failure(size_mismatch(error_details(), got, pending_part.size));
}

Result<bool> MpiOperation::test_next() {
  const Result<MpiCallGuard> guard = MpiCallGuard::acquire(mpi_comm_->support, error_details());
  if (!guard) return failure(guard.error());
  int is_done = 0;
  MPI_Status status;
  const int code = MPI_Test(&pending_parts_[completed_].request, &is_done, &status);
  if (code == MPI_SUCCESS && is_done == 0) return false;
  if (Status outcome = complete_part(code, status); !outcome) {
    return failure(outcome.error());
  }
  return true;
}

Result<bool> MpiOperation::test() {
  while (!is_complete()) {
    const Result<bool> is_done = test_next();
    if (!is_done || !*is_done) return is_done;
  }
  return true;
}

Status MpiOperation::wait_next() {
  const Result<MpiCallGuard> guard = MpiCallGuard::acquire(mpi_comm_->support, error_details());
  if (!guard) return failure(guard.error());
  MPI_Status status;
  const int code = MPI_Wait(&pending_parts_[completed_].request, &status);
  return complete_part(code, status);
}

Status MpiOperation::wait() {
  // With kSerialized, release the lock between tests, so that other threads can call MPI.
  const bool is_serialized = mpi_comm_->support == ThreadSupport::kSerialized;
  while (!is_complete()) {
    if (is_serialized) {
      const Result<bool> is_done = test();
      if (!is_done) return failure(is_done.error());
      if (!*is_done) std::this_thread::yield();
    } else if (Status next = wait_next(); !next) {
      return next;
    }
  }
  return {};
}

void MpiOperation::cancel_remaining() {
  const Result<MpiCallGuard> guard = MpiCallGuard::acquire(mpi_comm_->support, error_details());
  if (!guard) return;  // MPI is finalized, or this thread may not call it: leave the requests to it
  for (; completed_ < pending_parts_.size(); ++completed_) {
    MPI_Request& request = pending_parts_[completed_].request;
    if (request == MPI_REQUEST_NULL) continue;
    if (direction_ == Direction::kReceive) MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

MpiOperation::~MpiOperation() {
  if (!is_complete()) cancel_remaining();
}

template <class Start>
MessageRequest start_all(std::unique_ptr<MpiOperation> operation,
                         const TransferParts& parts,
                         Start start) {
  for (std::uint64_t i = 0; i < parts.count(); ++i) {
    const TransferPart part = parts.at(i);
    const Status started =
        operation->add(part.size, [&](MPI_Request* request) { return start(part, request); });
    if (!started) return MessageRequest(started.error());
  }
  return MessageRequest(std::move(operation));
}

}  // namespace

MessageRequest start_send(std::shared_ptr<const MpiCommHandle> mpi_comm,
                          std::span<const std::byte> bytes,
                          Rank to,
                          Tag tag) {
  const TransferParts parts(bytes.size(), mpi_comm->part_bytes);
  const MPI_Comm handle = mpi_comm->handle;
  const auto start = [=](TransferPart part, MPI_Request* request) {
    return MPI_Isend(bytes.data() + part.first, part.size, MPI_BYTE, static_cast<int>(to.number),
                     static_cast<int>(tag.number), handle, request);
  };
  return start_all(std::make_unique<MpiOperation>(std::move(mpi_comm), Direction::kSend), parts,
                   start);
}

MessageRequest start_receive(std::shared_ptr<const MpiCommHandle> mpi_comm,
                             std::span<std::byte> into,
                             Rank from,
                             Tag tag) {
  const TransferParts parts(into.size(), mpi_comm->part_bytes);
  const MPI_Comm handle = mpi_comm->handle;
  const auto start = [=](TransferPart part, MPI_Request* request) {
    return MPI_Irecv(into.data() + part.first, part.size, MPI_BYTE, static_cast<int>(from.number),
                     static_cast<int>(tag.number), handle, request);
  };
  return start_all(std::make_unique<MpiOperation>(std::move(mpi_comm), Direction::kReceive), parts,
                   start);
}

}  // namespace forebay::comm
