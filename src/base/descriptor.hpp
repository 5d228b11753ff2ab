// SPDX-License-Identifier: Apache-2.0
// Descriptor: a file descriptor that has an owner. Files, sockets, bells and what the processes of
// a node share are all named by descriptors, some of them received from others; none may be lost on
// the way of an error.
#pragma once

#include <forebay/error.hpp>

#include <utility>

namespace forebay {

/// Owns a descriptor of the operating system and closes it. May be empty. Not thread-safe.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes over `number`; a negative one makes an empty Descriptor.
  explicit Descriptor(int number) noexcept : number_(number < 0 ? kEmpty : number) {}
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

}  // namespace forebay
