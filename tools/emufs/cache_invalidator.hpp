// SPDX-License-Identifier: Apache-2.0
// Invalidates a client's page cache in a separate thread. The kernel blocks an invalidation until
// reads of the affected pages finish, and threads that send replies must never block in the kernel.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Invalidates bytes of a file in a client's page cache. Returns when they are invalid.
using InvalidatePages = std::function<void(const model::LockRevoked&)>;

class CacheInvalidator {
 public:
  /// `drop` is called on the CacheInvalidator's thread.
  explicit CacheInvalidator(InvalidatePages drop) : invalidate_(std::move(drop)) {}
  ~CacheInvalidator();
  CacheInvalidator(const CacheInvalidator&) = delete;
  CacheInvalidator& operator=(const CacheInvalidator&) = delete;
  Status start();

  /// Queues an invalidation. `on_done`, if any, is called after it, or when the CacheInvalidator
  /// ends first.
  void add(const model::LockRevoked& range, std::function<void()> on_done = {});

 private:
  struct Invalidation {
    model::LockRevoked range;
    std::function<void()> on_done;
  };
  void run();

  InvalidatePages invalidate_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Invalidation> pending_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::emufs
