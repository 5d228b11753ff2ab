// SPDX-License-Identifier: Apache-2.0
// LauncherSocket: the connections of an agent with the launchers of its job, `forebay run`, on a
// socket with an abstract name.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"

namespace forebay::run {

/// A launcher sends nothing until its program has ended, and then shuts down its direction. It
/// receives a line of JSON at once, and another one then: the report if it is the last launcher,
/// else null.
class LauncherSocket {
 public:
  /// Fails with kExists if the job has an agent. Each launcher receives `greeting` first. A thread
  /// calls `on_end` once, when all launchers have ended: at least one has connected, or none did
  /// for 10 seconds.
  static Result<std::unique_ptr<LauncherSocket>> listen(const std::string& name,
                                                        std::string greeting,
                                                        std::function<void()> on_end);
  ~LauncherSocket();
  LauncherSocket(const LauncherSocket&) = delete;
  LauncherSocket& operator=(const LauncherSocket&) = delete;

  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }
  /// To the last launcher, after has_ended().
  void send_report(const std::string& report);

 private:
  LauncherSocket(Descriptor listener, std::string greeting, std::function<void()> on_end)
      : listener_(std::move(listener)),
        greeting_(std::move(greeting)),
        on_end_(std::move(on_end)) {}
  void run();
  bool accept_launcher();

  Descriptor listener_;
  const std::string greeting_;
  const std::function<void()> on_end_;
  std::vector<Descriptor> launchers_;
  Descriptor last_;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace forebay::run
