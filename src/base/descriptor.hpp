// SPDX-License-Identifier: Apache-2.0
// Descriptor: an owned file descriptor. Files, sockets, doorbells and shared memory of a node are
// descriptors, some of them received from other processes. An error path must not leak one.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <array>
#include <string>
#include <utility>

#include <sys/types.h>

namespace forebay {

/// Returns a descriptor above 2 for the same open file, and closes `number` if it was 0, 1 or 2. If
/// a program has closed its standard streams, the system reuses those numbers, and later output of
/// the program would go into our file. Returns -1 with errno if `number` is negative or no other
/// number is free.
int move_above_stdio(int number) noexcept;

/// Raises the soft limit of open files to the hard limit, once per process; later changes by others
/// stay. Child processes inherit it. Ignores failure.
void raise_descriptor_limit() noexcept;

/// Occupies free numbers among 0, 1 and 2 during its lifetime, so that files opened by other
/// libraries do not get them.
class FOREBAY_EXPORT StandardDescriptorGuard {
 public:
  StandardDescriptorGuard() noexcept;
  ~StandardDescriptorGuard();
  StandardDescriptorGuard(const StandardDescriptorGuard&) = delete;
  StandardDescriptorGuard& operator=(const StandardDescriptorGuard&) = delete;

 private:
  std::array<int, 3> placeholders_{};  ///< in the order of opening; -1: not needed
};

/// Owns a descriptor of the operating system and closes it. May be empty. Not thread-safe.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes ownership of `number`, or of the number that move_above_stdio() returns for it. A
  /// negative number makes an empty Descriptor and keeps errno.
  explicit Descriptor(int number) noexcept : number_(move_above_stdio(number)) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor taken(std::move(other));
    std::swap(number_, taken.number_);
    return *this;
  }
  ~Descriptor();

  explicit operator bool() const noexcept { return number_ != kEmpty; }
  /// The number; -1 if empty. This object keeps ownership.
  int get() const noexcept { return number_; }
  /// Returns the number and transfers its ownership to the caller.
  int release() noexcept { return std::exchange(number_, kEmpty); }
  /// A second descriptor of the same open file, closed on exec. Fails with kLimit if the process
  /// has no free descriptor, and with kInvalidArgument if this one is empty.
  Result<Descriptor> duplicate() const;

 private:
  static constexpr int kEmpty = -1;
  int number_ = kEmpty;
};

/// open(2), repeated after signals. The file never has a number among 0, 1 and 2, not even for a
/// moment, so output of the program cannot reach it. Other threads that open files at the same time
/// can break that. Empty with errno on failure.
Descriptor open_path(const std::string& path, int flags, mode_t mode = 0) noexcept;

}  // namespace forebay
