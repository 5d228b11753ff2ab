// SPDX-License-Identifier: Apache-2.0
// WindowPool: the memory budget of a Runtime. It lends windows to sessions. A returned window keeps
// its pages for the next session, so opening a session costs no page faults.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shm/window.hpp"

namespace forebay::read {

class WindowPool : public std::enable_shared_from_this<WindowPool> {
 public:
  /// A window and its share of the budget; the destructor returns both. Not thread-safe.
  class Allocation {
   public:
    Allocation() = default;
    Allocation(Allocation&& other) noexcept = default;
    Allocation& operator=(Allocation&& other) noexcept;
    ~Allocation() { release(); }

    /// As shm::Window::map(), and takes additional bytes from the budget; kLimit if the budget has
    /// fewer left.
    Result<std::byte*> map(std::uint64_t size_bytes);
    std::uint64_t size_bytes() const noexcept { return window_.size_bytes(); }
    /// A descriptor of the window, to be mapped read-only by another process.
    Result<Descriptor> share() const { return window_.share(shm::Protection::kReadOnly); }

   private:
    friend class WindowPool;
    Allocation(std::shared_ptr<WindowPool> pool, shm::Window window)
        : pool_(std::move(pool)), window_(std::move(window)) {}
    void release() noexcept;

    std::shared_ptr<WindowPool> pool_;
    shm::Window window_;
  };

  explicit WindowPool(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// A window that will first be mapped with `size_bytes`. Returns an idle one with its pages: of
  /// that size, or up to four times as large if half of the budget stays free. Else an empty one.
  Result<Allocation> allocate(std::uint64_t size_bytes);
  /// Bytes of the budget that are not allocated.
  std::uint64_t available_bytes() const;
  std::uint64_t budget_bytes() const noexcept { return budget_bytes_; }

 private:
  bool reserve(std::uint64_t bytes);
  bool is_suitable(const shm::Window& window, std::uint64_t size_bytes) const noexcept;
  void release(shm::Window window) noexcept;
  void trim_idle(std::uint64_t bytes_free);

  const std::uint64_t budget_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t allocated_bytes_ = 0;
  std::uint64_t idle_bytes_ = 0;
  std::vector<shm::Window> idle_;
};

}  // namespace forebay::read
