// SPDX-License-Identifier: Apache-2.0
// Writes in flight in glibc's asynchronous I/O: how programs without Forebay write behind their
// computation.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include <aio.h>

namespace forebay::bench {

/// For one thread.
class AioWrites {
 public:
  AioWrites() = default;
  /// Blocks until all writes are complete.
  ~AioWrites() { static_cast<void>(wait_for_all()); }
  AioWrites(const AioWrites&) = delete;
  AioWrites& operator=(const AioWrites&) = delete;

  /// Begins to write `bytes` to the descriptor `file` of `path`. `owner` has the memory; it is
  /// released when collect() finds the write complete, or at once if the write cannot begin.
  Status begin(int file,
               const std::string& path,
               std::uint64_t offset,
               std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner);
  /// Releases the memory of completed writes. Returns the first failure of them.
  Status collect();
  /// Blocks until the oldest write is complete, if there is any.
  void wait_for_oldest() const;
  /// Blocks until all writes are complete, and collects them.
  Status wait_for_all();

 private:
  struct Write {
    std::string path;
    std::shared_ptr<const void> owner;
    aiocb block{};
  };
  static Status result_of(Write& write);

  std::deque<std::unique_ptr<Write>> writes_;  // the system keeps addresses of blocks
};

}  // namespace forebay::bench
