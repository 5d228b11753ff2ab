// SPDX-License-Identifier: Apache-2.0
// HDF5's handles with owners, and its failures as values: what both contenders that use it need.
// Its own header is not included here, so that this one compiles where HDF5 is not installed.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace forebay::bench::checkpoint::hdf5 {

/// hid_t, herr_t and hsize_t.
using Id = std::int64_t;
using Outcome = int;
using Words = unsigned long long;

using Close = Outcome (*)(Id);

/// Owns a handle of any kind; negative: none.
class Handle {
 public:
  Handle() noexcept = default;
  Handle(Id id, Close closer) noexcept : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, kNone)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    Handle taken(std::move(other));
    std::swap(id_, taken.id_);
    std::swap(close_, taken.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const noexcept { return id_ >= 0; }
  Id id() const noexcept { return id_; }
  /// Closes it now; what HDF5 says of that.
  Outcome close() noexcept { return id_ < 0 ? -1 : close_(std::exchange(id_, kNone)); }

 private:
  static constexpr Id kNone = -1;
  Id id_ = kNone;
  Close close_ = nullptr;
};

/// Success if `code` is not negative. HDF5 prints what it knows to standard error.
Status status(Outcome code, const char* operation, const std::string& path);

/// A simple space of one dimension.
Handle line(Words words);

/// The part of a one-dimensional space that begins at `begin`.
Handle part_of(Words words, Words begin, Words count);

}  // namespace forebay::bench::checkpoint::hdf5
