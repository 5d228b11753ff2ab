// SPDX-License-Identifier: Apache-2.0
#include "write/errands.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace forebay::write {

Result<std::unique_ptr<Errands>> Errands::start() {
  std::unique_ptr<Errands> errands(new Errands);
  auto thread = start_service_thread("forebay-errands", [raw = errands.get()] { raw->live(); });
  if (!thread) {
    errands->ended_ = true;
    return failure(thread.error());
  }
  errands->thread_ = std::move(*thread);
  return errands;
}

Errands::~Errands() { stop(); }

void Errands::add(Errand errand, Urgency urgency) {
  std::unique_lock lock(mutex_);
  if (!ended_) {
    (urgency == Urgency::kNow ? now_ : ahead_).push_back(std::move(errand));
    changed_.notify_one();
    return;
  }
  const std::optional<Error> why = refused_;
  lock.unlock();
  errand(why);
}

void Errands::refuse(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!refused_) refused_ = why;
}

void Errands::stop() {
  refuse(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the dataset is closed"}));
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

/// All of the thread.
void Errands::live() {
  while (auto errand = next()) {
    std::optional<Error> refused;
    {
      const std::lock_guard lock(mutex_);
      refused = refused_;
    }
    (*errand)(refused);
  }
}

/// Waits for one; none if nothing more comes.
std::optional<Errands::Errand> Errands::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !now_.empty() || !ahead_.empty(); });
  std::deque<Errand>& from = now_.empty() ? ahead_ : now_;
  if (from.empty()) {
    ended_ = true;
    return std::nullopt;
  }
  std::optional<Errand> errand(std::move(from.front()));
  from.pop_front();
  return errand;
}

}  // namespace forebay::write
