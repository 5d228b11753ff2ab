// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/reply_buffers.hpp"

#include <new>

namespace forebay::emufs {

namespace {
constexpr std::align_val_t kPage{4096};
}

ReplyBuffers::~ReplyBuffers() {
  for (char* block : blocks_)
    ::operator delete(block, kPage);
}

ReplyBuffers::Buffer ReplyBuffers::acquire(std::size_t bytes) {
  const std::size_t size = bytes > kSmallBytes && bytes < kBlockBytes ? kBlockBytes : bytes;
  if (size == kBlockBytes) {
    const std::lock_guard lock(mutex_);
    if (!blocks_.empty()) {
      char* block = blocks_.back();
      blocks_.pop_back();
      return {block, Deleter{this, size}};
    }
  }
  return {static_cast<char*>(::operator new(size, kPage)), Deleter{this, size}};
}

void ReplyBuffers::release(char* memory, std::size_t bytes) noexcept {
  if (bytes == kBlockBytes) {
    const std::lock_guard lock(mutex_);
    if (blocks_.size() < kCachedBlocksMax) {
      blocks_.reserve(kCachedBlocksMax);
      blocks_.push_back(memory);
      return;
    }
  }
  ::operator delete(memory, kPage);
}

}  // namespace forebay::emufs
