// SPDX-License-Identifier: Apache-2.0
// One attempt with a descriptor, or with the calls of File without one.
#include "storage/attempt.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace forebay::storage {

namespace {

std::int64_t call_posix(const Operation& operation, int descriptor) {
  const auto offset = static_cast<off_t>(operation.offset_bytes);
  const std::span<std::byte> memory = operation.memory;
  switch (operation.kind) {
    case OperationKind::kRead:
      return ::pread(descriptor, memory.data(), memory.size(), offset);
    case OperationKind::kWrite:
      return ::pwrite(descriptor, memory.data(), memory.size(), offset);
    case OperationKind::kSync:
      return ::fdatasync(descriptor);
    case OperationKind::kAllocate:
      return ::fallocate(descriptor, 0, offset, static_cast<off_t>(operation.length_bytes));
  }
  errno = EINVAL;
  return -1;
}

/// A File's error as the result of a system call.
std::int64_t negative_errno(const Error& error) {
  return error.error_number() != 0 ? -error.error_number() : -EIO;
}

std::int64_t to_raw_result(const Result<std::size_t>& moved) {
  return moved ? static_cast<std::int64_t>(*moved) : negative_errno(moved.error());
}

std::int64_t to_raw_result(const Status& status) {
  return status ? 0 : negative_errno(status.error());
}

std::int64_t call_file(const Operation& operation) {
  File& file = *operation.file;
  switch (operation.kind) {
    case OperationKind::kRead:
      return to_raw_result(file.read_at(operation.memory, operation.offset_bytes));
    case OperationKind::kWrite:
      return to_raw_result(file.write_at(operation.memory, operation.offset_bytes));
    case OperationKind::kSync:
      return to_raw_result(file.sync());
    case OperationKind::kAllocate:
      return to_raw_result(file.allocate({operation.offset_bytes, operation.length_bytes}));
  }
  return -EINVAL;
}

}  // namespace

std::int64_t attempt(const Operation& operation) {
  const int descriptor = operation.file->descriptor();
  if (descriptor < 0) return call_file(operation);
  const std::int64_t result = call_posix(operation, descriptor);
  return result < 0 ? -errno : result;
}

}  // namespace forebay::storage
