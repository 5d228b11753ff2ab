// SPDX-License-Identifier: Apache-2.0
// Operations: construction and names.
#include "storage/backend.hpp"

namespace forebay::storage {

std::string_view name_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kRead:
      return "read";
    case OperationKind::kWrite:
      return "write";
    case OperationKind::kSync:
      return "sync";
    case OperationKind::kAllocate:
      return "allocate space for";
  }
  return "unknown";
}

Operation read_operation(File& file,
                         std::uint64_t offset_bytes,
                         std::span<std::byte> into,
                         std::uint64_t tag) {
  return {.kind = OperationKind::kRead,
          .file = &file,
          .offset_bytes = offset_bytes,
          .memory = into,
          .tag = tag};
}

Operation write_operation(File& file,
                          std::uint64_t offset_bytes,
                          std::span<const std::byte> from,
                          std::uint64_t tag) {
  // One type of span serves both directions; a write only reads from it.
  auto* const data = const_cast<std::byte*>(from.data());
  return {.kind = OperationKind::kWrite,
          .file = &file,
          .offset_bytes = offset_bytes,
          .memory = {data, from.size()},
          .tag = tag};
}

Operation sync_operation(File& file, std::uint64_t tag) {
  return {.kind = OperationKind::kSync, .file = &file, .tag = tag};
}

Operation allocate_operation(File& file, ByteRange range, std::uint64_t tag) {
  return {.kind = OperationKind::kAllocate,
          .file = &file,
          .offset_bytes = range.offset,
          .length_bytes = range.size,
          .tag = tag};
}

Status Backend::register_buffers(std::span<std::byte> /*arena*/) {
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "register buffers",
                  .cause = "the backend " + std::string(name()) + " does not pin memory"});
}

void Backend::unregister_buffers(std::span<const std::byte> /*arena*/) noexcept {}

}  // namespace forebay::storage
