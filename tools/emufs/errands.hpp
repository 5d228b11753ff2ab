// SPDX-License-Identifier: Apache-2.0
// Things to be done soon, one after another, in a thread of their own, because they may take long
// and nobody waits for them: telling a kernel which names are gone.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace forebay::emufs {

/// Any thread may add.
class Errands {
 public:
  Errands() = default;
  /// Waits for the errand under way; leaves out the others.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  Status start();

  /// Leaves the oldest out if too many wait, as behind one that is stuck: none is so important that
  /// memory may grow for ever.
  void add(std::function<void()> errand);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> errands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::emufs
