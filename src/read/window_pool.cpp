// SPDX-License-Identifier: Apache-2.0
#include "read/window_pool.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace forebay::read {

namespace {

/// An idle window is taken for a session that begins with at least this part of it: a session that
/// needs little must not sit on memory that another one could use.
constexpr std::uint64_t kOversizeMax = 4;
/// And not at all when less than 1 / this of the budget would be left: plans get small then.
constexpr std::uint64_t kReserveShare = 2;

}  // namespace

WindowPool::Lease& WindowPool::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back();
    pool_ = std::move(other.pool_);
    window_ = std::move(other.window_);
  }
  return *this;
}

void WindowPool::Lease::give_back() noexcept {
  if (pool_) pool_->give_back(std::move(window_));
  pool_.reset();
}

Result<std::byte*> WindowPool::Lease::map(std::uint64_t size_bytes) {
  const std::uint64_t held = window_.size_bytes();
  const std::uint64_t added = size_bytes > held ? size_bytes - held : 0;
  if (!pool_->take(added)) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "take memory for a session",
                    .cause = std::to_string(added) + " bytes more than are left of the budget of " +
                             std::to_string(pool_->budget_bytes()) +
                             "; close other sessions or raise the Runtime's budget"});
  }
  auto base = window_.map(size_bytes);
  if (!base) {
    const std::lock_guard lock(pool_->mutex_);
    pool_->leased_bytes_ -= held + added - window_.size_bytes();
  }
  return base;
}

Result<WindowPool::Lease> WindowPool::lease(std::uint64_t size_bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(idle_.begin(), idle_.end(), [&](const shm::Window& window) {
      return suits(window, size_bytes);
    });
    if (fits != idle_.end()) {
      shm::Window window = std::move(*fits);
      idle_.erase(fits);
      idle_bytes_ -= window.size_bytes();
      leased_bytes_ += window.size_bytes();
      return Lease(shared_from_this(), std::move(window));
    }
  }
  auto window = shm::Window::create();
  if (!window) return failure(window.error());
  return Lease(shared_from_this(), std::move(*window));
}

bool WindowPool::suits(const shm::Window& window, std::uint64_t size_bytes) const noexcept {
  const std::uint64_t held = window.size_bytes();
  if (held <= size_bytes) return held == size_bytes;
  const std::uint64_t left =
      budget_bytes_ - leased_bytes_ - held;  // idle windows fit beside leases
  return held <= kOversizeMax * size_bytes && left >= budget_bytes_ / kReserveShare;
}

std::uint64_t WindowPool::available_bytes() const {
  const std::lock_guard lock(mutex_);
  return budget_bytes_ - leased_bytes_;
}

bool WindowPool::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > budget_bytes_ - leased_bytes_) return false;
  leased_bytes_ += bytes;
  drop_idle_until(budget_bytes_ - leased_bytes_);
  return true;
}

void WindowPool::give_back(shm::Window window) noexcept {
  const std::lock_guard lock(mutex_);
  leased_bytes_ -= window.size_bytes();
  idle_bytes_ += window.size_bytes();
  if (window.size_bytes() > 0) idle_.push_back(std::move(window));
  drop_idle_until(budget_bytes_ - leased_bytes_);
}

void WindowPool::drop_idle_until(std::uint64_t bytes_free) {
  while (idle_bytes_ > bytes_free) {
    idle_bytes_ -= idle_.front().size_bytes();
    idle_.erase(idle_.begin());
  }
}

}  // namespace forebay::read
