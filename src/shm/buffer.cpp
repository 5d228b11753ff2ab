// SPDX-License-Identifier: Apache-2.0
// What users see of memory that agents can write out as it is. Where it comes from is in
// buffer_source.cpp.
#include <forebay/buffer.hpp>

#include <string>

#include "shm/buffer_source.hpp"

namespace forebay {

Buffer::Buffer() noexcept = default;

Buffer::Buffer(Buffer&& other) noexcept
    : lease_(std::move(other.lease_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      kind_(other.kind_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(lease_, taken.lease_);
  std::swap(data_, taken.data_);
  std::swap(size_bytes_, taken.size_bytes_);
  std::swap(kind_, taken.kind_);
  return *this;
}

Buffer::~Buffer() = default;

Status AdoptedBuffer::check() const {
  if (wanted_bytes_ <= buffer_.size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "adopt a buffer",
                  .cause = std::to_string(wanted_bytes_) +
                           " bytes of it are given away, and it has " +
                           std::to_string(buffer_.size())});
}

}  // namespace forebay
