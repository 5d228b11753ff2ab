// SPDX-License-Identifier: Apache-2.0
// Checks the state of the file and the order of calls, for all implementations.
#include "comm/collective_file.hpp"

#include "comm/communicator.hpp"

namespace forebay::comm {

namespace {

FileTransfer make_read(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return {FileTransfer::Direction::kRead, into, offset_bytes};
}

FileTransfer make_write(std::span<const std::byte> from, std::uint64_t offset_bytes) {
  return {FileTransfer::Direction::kWrite,
          {const_cast<std::byte*>(from.data()), from.size()},
          offset_bytes};
}

}  // namespace

Result<std::uint64_t> CollectiveFile::size() {
  if (Status open = check_open("get the size of"); !open) {
    return failure(open.error());
  }
  return size_local();
}

Result<std::size_t> CollectiveFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return transfer_independent(make_read(into, offset_bytes));
}

Result<std::size_t> CollectiveFile::write_at(std::span<const std::byte> from,
                                             std::uint64_t offset_bytes) {
  return transfer_independent(make_write(from, offset_bytes));
}

Result<std::size_t> CollectiveFile::read_at_all(std::span<std::byte> into,
                                                std::uint64_t offset_bytes) {
  return transfer_all(make_read(into, offset_bytes));
}

Result<std::size_t> CollectiveFile::write_at_all(std::span<const std::byte> from,
                                                 std::uint64_t offset_bytes) {
  return transfer_all(make_write(from, offset_bytes));
}

Status CollectiveFile::write_segments_at_all(std::span<const FileSegment> segments) {
  Status allowed = check_collective("write");
  if (allowed) allowed = check_transfer(make_write({}, 0));
  return allowed ? write_segments(segments) : allowed;
}

Status CollectiveFile::read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return begin_transfer(make_read(into, offset_bytes));
}

Status CollectiveFile::write_at_all_begin(std::span<const std::byte> from,
                                          std::uint64_t offset_bytes) {
  return begin_transfer(make_write(from, offset_bytes));
}

Result<std::size_t> CollectiveFile::read_at_all_end() { return end_transfer(Direction::kRead); }

Result<std::size_t> CollectiveFile::write_at_all_end() { return end_transfer(Direction::kWrite); }

Status CollectiveFile::sync() {
  if (Status checked = check_collective("sync"); !checked) return checked;
  return ranks_->agree(sync_local());
}

Status CollectiveFile::close() {
  if (Status checked = check_collective("close"); !checked) return checked;
  is_open_ = false;
  return ranks_->agree(close_local());
}

Result<std::size_t> CollectiveFile::agree_on(const Result<std::size_t>& transferred) {
  const Status outcome = transferred ? Status() : Status(failure(transferred.error()));
  if (Status agreed = ranks_->agree(outcome); !agreed) return failure(agreed.error());
  return transferred;
}

Result<std::size_t> CollectiveFile::transfer_independent(const FileTransfer& transfer) {
  if (Status allowed = check_transfer(transfer); !allowed) {
    return failure(allowed.error());
  }
  return transfer_local(transfer);
}

Result<std::size_t> CollectiveFile::transfer_all(const FileTransfer& transfer) {
  Status allowed = check_collective(transfer.operation());
  if (allowed) allowed = check_transfer(transfer);
  if (!allowed) return failure(allowed.error());
  return transfer_collective(transfer);
}

Status CollectiveFile::begin_transfer(const FileTransfer& transfer) {
  Status begun = check_collective(transfer.operation());
  if (begun) begun = check_transfer(transfer);
  if (begun) begun = begin_collective(transfer);
  if (begun) active_split_ = transfer.direction;
  return begun;
}

Result<std::size_t> CollectiveFile::end_transfer(Direction direction) {
  if (active_split_ != direction) {
    return refuse(ErrorClass::kInvalidArgument, FileTransfer{direction}.operation(),
                  "no such split call has begun");
  }
  active_split_.reset();
  return end_collective();
}

Status CollectiveFile::check_open(const char* operation) const {
  if (is_open_) return {};
  return refuse(ErrorClass::kClosed, operation, "it has been closed");
}

/// Rejects writes to a file opened for reading: not every MPI-IO does.
Status CollectiveFile::check_transfer(const FileTransfer& transfer) const {
  if (is_open_ && !transfer.is_read() && intent_ == FileIntent::kRead) {
    return refuse(ErrorClass::kInvalidArgument, "write", "it was opened for reading only");
  }
  return check_open(transfer.operation());
}

Status CollectiveFile::check_collective(const char* operation) const {
  if (!active_split_) return check_open(operation);
  return refuse(ErrorClass::kInvalidArgument, operation,
                "a split collective call is under way; end it first");
}

tl::unexpected<Error> CollectiveFile::refuse(ErrorClass kind,
                                             const char* operation,
                                             const char* cause) const {
  return failure({.kind = kind, .operation = operation, .path = path_, .cause = cause});
}

}  // namespace forebay::comm
