// SPDX-License-Identifier: Apache-2.0
// Errands: a thread for what blocks on a file system: opening, creating, renaming, syncing folders.
// A server that does not answer one dataset must hold up nobody but that dataset, so each has a
// thread of its own; and what is made ahead of need must not delay what somebody waits for.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace forebay::write {

enum class Urgency : std::uint8_t {
  kNow,    ///< somebody waits for it
  kAhead,  ///< for later: whenever nothing of the other kind is left to do
};

/// Any thread, but stop().
class Errands {
 public:
  /// Called on the thread with no value; or, if stop() came first, with why it is not to be done.
  using Errand = std::function<void(const std::optional<Error>& refused)>;

  /// kLimit if there is no thread.
  static Result<std::unique_ptr<Errands>> start();
  /// As stop().
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// In the order of the calls, for errands of one urgency. Never blocks. After stop() the errand
  /// is refused at once, on the caller's thread.
  void add(Errand errand, Urgency urgency = Urgency::kNow);

  /// Refuses what was not begun and what comes from now on.
  void refuse(const Error& why);

  /// As refuse(), if that was not called before; returns when all were told. Not from an errand.
  void stop();

 private:
  Errands() = default;
  void live();
  std::optional<Errand> next();

  std::mutex mutex_;  // guards what follows, but the thread
  std::condition_variable changed_;
  std::deque<Errand> now_;
  std::deque<Errand> ahead_;
  std::optional<Error> refused_;
  bool ending_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
