// SPDX-License-Identifier: Apache-2.0
// Descriptor: a file descriptor that has an owner. Files, sockets, bells and what the processes of
// a node share are all named by descriptors, some of them received from others; none may be lost on
// the way of an error.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <string>
#include <utility>

#include <sys/types.h>

namespace forebay {

/// A number that is none of 0, 1 and 2, for the same open file; `number` is closed if it was one of
/// them. Where a program has closed its standard streams, the system hands those numbers out, and
/// whatever the program prints later would go into our file. -1 with errno if `number` is negative
/// or no other number is left.
int above_standard(int number) noexcept;

/// Raises the soft limit of open files to the hard one, once in a process; later changes by others
/// stay. Child processes inherit it. A limit that cannot be raised stays.
void raise_descriptor_limit() noexcept;

/// While it lives, the system gives none of the numbers 0, 1 and 2 to what other libraries open.
class StandardNumbersTaken {
 public:
  StandardNumbersTaken() noexcept;
  ~StandardNumbersTaken();
  StandardNumbersTaken(const StandardNumbersTaken&) = delete;
  StandardNumbersTaken& operator=(const StandardNumbersTaken&) = delete;

 private:
  std::array<int, 3> taken_{};  ///< in the order of opening; -1: not needed
};

/// Owns a descriptor of the operating system and closes it. May be empty. Not thread-safe.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes over `number`, or the number that above_standard() gives for it. A negative one makes an
  /// empty Descriptor; errno stays as it was.
  explicit Descriptor(int number) noexcept : number_(above_standard(number)) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor taken(std::move(other));
    std::swap(number_, taken.number_);
    return *this;
  }
  ~Descriptor();

  explicit operator bool() const noexcept { return number_ != kEmpty; }
  /// The number, -1 if empty; it stays owned here.
  int get() const noexcept { return number_; }
  /// The number, which the caller owns from now on.
  int release() noexcept { return std::exchange(number_, kEmpty); }
  /// A second descriptor of the same open file, closed on exec. Fails with kLimit if the process
  /// has none left, with kInvalidArgument if this one is empty.
  Result<Descriptor> duplicate() const;

 private:
  static constexpr int kEmpty = -1;
  int number_ = kEmpty;
};

/// open(2), repeated after a signal. The file does not have one of the numbers 0, 1 and 2 even for
/// a moment, so that nothing the program prints gets into it; other threads that open files at the
/// same time can break that. Empty with errno on failure.
Descriptor open_path(const std::string& path, int flags, mode_t mode = 0) noexcept;

}  // namespace forebay
