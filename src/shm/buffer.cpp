// SPDX-License-Identifier: Apache-2.0
// Buffer and AdoptedBuffer: memory that agents write out without a copy. buffer_allocator.cpp
// allocates it.
#include <forebay/buffer.hpp>

#include <string>

#include "shm/buffer_allocator.hpp"

namespace forebay {

Buffer::Buffer() noexcept = default;

Buffer::Buffer(Buffer&& other) noexcept
    : allocation_(std::move(other.allocation_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      kind_(other.kind_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(allocation_, taken.allocation_);
  std::swap(data_, taken.data_);
  std::swap(size_bytes_, taken.size_bytes_);
  std::swap(kind_, taken.kind_);
  return *this;
}

Buffer::~Buffer() = default;

Status AdoptedBuffer::check() const {
  if (requested_bytes_ <= buffer_.size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "adopt a buffer",
                  .cause = std::to_string(requested_bytes_) +
                           " bytes exceed the size of the buffer, " +
                           std::to_string(buffer_.size())});
}

}  // namespace forebay
