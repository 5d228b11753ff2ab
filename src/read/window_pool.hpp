// SPDX-License-Identifier: Apache-2.0
// WindowPool: the memory budget of a Runtime. Sessions lease windows from it; a window that comes
// back keeps its pages for the next session, so opening a session costs no page faults.
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
  /// A window and its share of the budget; both go back when the lease ends. Not thread-safe.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { give_back(); }

    /// As shm::Window::map, and takes what is missing from the budget: kLimit if that is not there.
    Result<std::byte*> map(std::uint64_t size_bytes);
    std::uint64_t size_bytes() const noexcept { return window_.size_bytes(); }
    /// A descriptor of the window, to be mapped for reading by another process.
    Result<Descriptor> share() const { return window_.share(shm::Protection::kReadOnly); }

   private:
    friend class WindowPool;
    Lease(std::shared_ptr<WindowPool> pool, shm::Window window)
        : pool_(std::move(pool)), window_(std::move(window)) {}
    void give_back() noexcept;

    std::shared_ptr<WindowPool> pool_;
    shm::Window window_;
  };

  explicit WindowPool(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// A window that will be mapped with `size_bytes` first: one that is about that size and has its
  /// pages, else an empty one. One that is larger is lent only while half of the budget is left.
  Result<Lease> lease(std::uint64_t size_bytes);
  /// What sessions can still get.
  std::uint64_t available_bytes() const;
  std::uint64_t budget_bytes() const noexcept { return budget_bytes_; }

 private:
  bool take(std::uint64_t bytes);
  bool suits(const shm::Window& window, std::uint64_t size_bytes) const noexcept;
  void give_back(shm::Window window) noexcept;
  void drop_idle_until(std::uint64_t bytes_free);

  const std::uint64_t budget_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t leased_bytes_ = 0;
  std::uint64_t idle_bytes_ = 0;
  std::vector<shm::Window> idle_;
};

}  // namespace forebay::read
