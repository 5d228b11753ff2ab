// SPDX-License-Identifier: Apache-2.0
// The rules of order between the calls on one CollectiveFile, the same for all makes of it.
#include "comm/collective_file.hpp"

#include "comm/communicator.hpp"

namespace forebay::comm {

namespace {

FileTransfer read_of(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return {FileTransfer::Direction::kRead, into, offset_bytes};
}

FileTransfer write_of(std::span<const std::byte> from, std::uint64_t offset_bytes) {
  return {FileTransfer::Direction::kWrite,
          {const_cast<std::byte*>(from.data()), from.size()},
          offset_bytes};
}

}  // namespace

Result<std::uint64_t> CollectiveFile::size() {
  if (Status open = check_open("get the size of"); !open) {
    return failure(open.error());
  }
  return size_here();
}

Result<std::size_t> CollectiveFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return transfer_alone(read_of(into, offset_bytes));
}

Result<std::size_t> CollectiveFile::write_at(std::span<const std::byte> from,
                                             std::uint64_t offset_bytes) {
  return transfer_alone(write_of(from, offset_bytes));
}

Result<std::size_t> CollectiveFile::read_at_all(std::span<std::byte> into,
                                                std::uint64_t offset_bytes) {
  return transfer_all(read_of(into, offset_bytes));
}

Result<std::size_t> CollectiveFile::write_at_all(std::span<const std::byte> from,
                                                 std::uint64_t offset_bytes) {
  return transfer_all(write_of(from, offset_bytes));
}

Status CollectiveFile::write_pieces_at_all(std::span<const FilePiece> pieces) {
  Status allowed = check_collective("write");
  if (allowed) allowed = check_transfer(write_of({}, 0));
  return allowed ? write_pieces(pieces) : allowed;
}

Status CollectiveFile::read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return begin_transfer(read_of(into, offset_bytes));
}

Status CollectiveFile::write_at_all_begin(std::span<const std::byte> from,
                                          std::uint64_t offset_bytes) {
  return begin_transfer(write_of(from, offset_bytes));
}

Result<std::size_t> CollectiveFile::read_at_all_end() { return end_transfer(Direction::kRead); }

Result<std::size_t> CollectiveFile::write_at_all_end() { return end_transfer(Direction::kWrite); }

Status CollectiveFile::sync() {
  if (Status free = check_collective("sync"); !free) return free;
  return ranks_->agree(sync_here());
}

Status CollectiveFile::close() {
  if (Status free = check_collective("close"); !free) return free;
  is_open_ = false;
  return ranks_->agree(close_here());
}

Result<std::size_t> CollectiveFile::agreed(const Result<std::size_t>& moved) {
  const Status mine = moved ? Status() : Status(failure(moved.error()));
  if (Status all = ranks_->agree(mine); !all) return failure(all.error());
  return moved;
}

Result<std::size_t> CollectiveFile::transfer_alone(const FileTransfer& transfer) {
  if (Status allowed = check_transfer(transfer); !allowed) {
    return failure(allowed.error());
  }
  return move_here(transfer);
}

Result<std::size_t> CollectiveFile::transfer_all(const FileTransfer& transfer) {
  Status allowed = check_collective(transfer.operation());
  if (allowed) allowed = check_transfer(transfer);
  if (!allowed) return failure(allowed.error());
  return move_all(transfer);
}

Status CollectiveFile::begin_transfer(const FileTransfer& transfer) {
  Status begun = check_collective(transfer.operation());
  if (begun) begun = check_transfer(transfer);
  if (begun) begun = begin_all(transfer);
  if (begun) under_way_ = transfer.direction;
  return begun;
}

Result<std::size_t> CollectiveFile::end_transfer(Direction direction) {
  if (under_way_ != direction) {
    return refuse(ErrorClass::kInvalidArgument, FileTransfer{direction}.operation(),
                  "no such split call has begun");
  }
  under_way_.reset();
  return end_all();
}

Status CollectiveFile::check_open(const char* operation) const {
  if (is_open_) return {};
  return refuse(ErrorClass::kClosed, operation, "it has been closed");
}

/// Not every MPI-IO refuses to write to what was opened for reading.
Status CollectiveFile::check_transfer(const FileTransfer& transfer) const {
  if (is_open_ && !transfer.reads() && intent_ == FileIntent::kRead) {
    return refuse(ErrorClass::kInvalidArgument, "write", "it was opened for reading only");
  }
  return check_open(transfer.operation());
}

Status CollectiveFile::check_collective(const char* operation) const {
  if (!under_way_) return check_open(operation);
  return refuse(ErrorClass::kInvalidArgument, operation,
                "a split collective call is under way; end it first");
}

tl::unexpected<Error> CollectiveFile::refuse(ErrorClass kind,
                                             const char* operation,
                                             const char* cause) const {
  return failure({.kind = kind, .operation = operation, .path = path_, .cause = cause});
}

}  // namespace forebay::comm
