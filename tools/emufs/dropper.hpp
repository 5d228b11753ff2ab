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
  /// `drop` and `done` are called from the Dropper's thread.
  Dropper(DropPages drop, std::function<void(model::FileId)> done)
      : drop_(std::move(drop)), done_(std::move(done)) {}
  ~Dropper();
  Dropper(const Dropper&) = delete;
  Dropper& operator=(const Dropper&) = delete;
  Status start();

  enum class Told : std::uint8_t { kNo, kYes };
  /// Queues it; `done(file)` follows if somebody is to be told.
  void add(const model::LockLost& lost, Told told);
  /// Queues it; `then` follows in any case, if only when this ends.
  void add(const model::LockLost& lost, std::function<void()> then);

 private:
  struct Order {
    model::LockLost lost;
    Told told = Told::kNo;
    std::function<void()> then = {};
  };
  void add(Order order);
  void work();

  DropPages drop_;
  std::function<void(model::FileId)> done_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Order> orders_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::emufs
