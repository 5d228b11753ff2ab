// SPDX-License-Identifier: Apache-2.0
// Owners of HDF5 handles, and HDF5 failures as Status, for both candidates that use HDF5. Its
// header is not included here, so that this one compiles without HDF5.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace forebay::bench::checkpoint::hdf5 {

/// hid_t, herr_t and hsize_t.
using Hid = std::int64_t;
using Herr = int;
using Hsize = unsigned long long;

using CloseFunction = Herr (*)(Hid);

/// Owns a handle of any kind; negative: none.
class Handle {
 public:
  Handle() noexcept = default;
  Handle(Hid id, CloseFunction closer) noexcept : id_(id), close_(closer) {}
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
  Hid id() const noexcept { return id_; }
  /// Closes it now; returns HDF5's result.
  Herr close() noexcept { return id_ < 0 ? -1 : close_(std::exchange(id_, kNone)); }

 private:
  static constexpr Hid kNone = -1;
  Hid id_ = kNone;
  CloseFunction close_ = nullptr;
};

/// Success if `code` is not negative. HDF5 prints details to standard error.
Status status(Herr code, const char* operation, const std::string& path);

/// A simple space of one dimension.
Handle simple_space(Hsize words);

/// The part of a one-dimensional space that begins at `begin`.
Handle hyperslab(Hsize words, Hsize begin, Hsize count);

}  // namespace forebay::bench::checkpoint::hdf5
