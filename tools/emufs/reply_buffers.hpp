// SPDX-License-Identifier: Apache-2.0
// Memory for replies that wait with their bytes. Blocks are reused, so that no page fault delays a
// reply.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace forebay::emufs {

/// Thread-safe.
class ReplyBuffers {
 public:
  struct Deleter {
    ReplyBuffers* owner = nullptr;
    std::size_t bytes = 0;
    void operator()(char* memory) const noexcept { owner->release(memory, bytes); }
  };
  using Buffer = std::unique_ptr<char, Deleter>;

  ReplyBuffers() = default;
  ~ReplyBuffers();
  ReplyBuffers(const ReplyBuffers&) = delete;
  ReplyBuffers& operator=(const ReplyBuffers&) = delete;

  /// Page-aligned memory. This object must outlive it.
  Buffer acquire(std::size_t bytes);

 private:
  /// Size of a cached block, the kernel's longest request. Small buffers are from malloc.
  static constexpr std::size_t kBlockBytes = 1U << 20U;
  static constexpr std::size_t kSmallBytes = 32U << 10U;
  static constexpr std::size_t kCachedBlocksMax = 256;

  void release(char* memory, std::size_t bytes) noexcept;

  std::mutex mutex_;
  std::vector<char*> blocks_;
};

}  // namespace forebay::emufs
