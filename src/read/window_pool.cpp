// SPDX-License-Identifier: Apache-2.0
#include "read/window_pool.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "read/plan.hpp"

namespace forebay::read {

namespace {

/// An idle window is at most this many times as large as the first mapping of a session. A small
/// session must not hold memory that another one could use.
constexpr std::uint64_t kOversizeMax = 4;
/// A larger window is not lent if less than 1 / this of the budget would stay free. plan_read()
/// would choose small windows for later sessions then.
constexpr std::uint64_t kReserveShare = 2;

}  // namespace

WindowPool::Allocation& WindowPool::Allocation::operator=(Allocation&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::move(other.pool_);
    window_ = std::move(other.window_);
  }
  return *this;
}

void WindowPool::Allocation::release() noexcept {
  if (pool_) pool_->release(std::move(window_));
  pool_.reset();
}

Result<std::byte*> WindowPool::Allocation::map(std::uint64_t size_bytes) {
  const std::uint64_t held = window_.size_bytes();
  const std::uint64_t added = size_bytes > held ? size_bytes - held : 0;
  if (!pool_->reserve(added)) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "take memory for a session",
                    .cause = std::to_string(added) + " bytes more than are left of the budget of " +
                             std::to_string(pool_->budget_bytes()) +
                             "; close other sessions or raise the Runtime's budget"});
  }
  auto base = window_.map(size_bytes);
  if (!base) {
    const std::lock_guard lock(pool_->mutex_);
    pool_->allocated_bytes_ -= held + added - window_.size_bytes();
  }
  return base;
}

Result<WindowPool::Allocation> WindowPool::allocate(std::uint64_t size_bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(idle_.begin(), idle_.end(), [&](const shm::Window& window) {
      return is_suitable(window, size_bytes);
    });
    if (fits != idle_.end()) {
      shm::Window window = std::move(*fits);
      idle_.erase(fits);
      idle_bytes_ -= window.size_bytes();
      allocated_bytes_ += window.size_bytes();
      return Allocation(shared_from_this(), std::move(window));
    }
  }
  auto window = shm::Window::create();
  if (!window) return failure(window.error());
  return Allocation(shared_from_this(), std::move(*window));
}

bool WindowPool::is_suitable(const shm::Window& window, std::uint64_t size_bytes) const noexcept {
  const std::uint64_t held = window.size_bytes();
  if (held <= size_bytes) return held == size_bytes;
  // idle windows fit in the budget beside allocated ones
  const std::uint64_t left = budget_bytes_ - allocated_bytes_ - held;
  return held <= kOversizeMax * size_bytes && left >= budget_bytes_ / kReserveShare;
}

std::uint64_t WindowPool::available_bytes() const {
  const std::lock_guard lock(mutex_);
  return budget_bytes_ - allocated_bytes_;
}

bool WindowPool::reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > budget_bytes_ - allocated_bytes_) return false;
  allocated_bytes_ += bytes;
  trim_idle(budget_bytes_ - allocated_bytes_);
  return true;
}

void WindowPool::release(shm::Window window) noexcept {
  const std::lock_guard lock(mutex_);
  allocated_bytes_ -= window.size_bytes();
  idle_bytes_ += window.size_bytes();
  if (window.size_bytes() > 0) idle_.push_back(std::move(window));
  trim_idle(budget_bytes_ - allocated_bytes_);
}

void WindowPool::trim_idle(std::uint64_t bytes_free) {
  while (idle_bytes_ > bytes_free) {
    idle_bytes_ -= idle_.front().size_bytes();
    idle_.erase(idle_.begin());
  }
}

}  // namespace forebay::read
