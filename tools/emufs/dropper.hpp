// SPDX-License-Identifier: Apache-2.0
// Has a client's page cache forget bytes, in a thread of its own: the kernel waits there for pages
// that are being read, and those that answer must never wait for the kernel.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Has the page cache of a client forget bytes of a file, and returns when it has.
using DropPages = std::function<void(const model::LockLost&)>;

class Dropper {
 public:
  /// `drop` is called from the Dropper's thread.
  explicit Dropper(DropPages drop) : drop_(std::move(drop)) {}
  ~Dropper();
  Dropper(const Dropper&) = delete;
  Dropper& operator=(const Dropper&) = delete;
  Status start();

  /// Queues it; `then`, if any, is called afterwards, or when this ends before.
  void add(const model::LockLost& lost, std::function<void()> then = {});

 private:
  struct Order {
    model::LockLost lost;
    std::function<void()> then;
  };
  void work();

  DropPages drop_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Order> orders_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::emufs
