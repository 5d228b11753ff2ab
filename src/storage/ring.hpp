// SPDX-License-Identifier: Apache-2.0
// Ring: an io_uring instance with the best flags that the kernel takes, closed at its end. The one
// place that includes liburing.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <liburing.h>

namespace forebay::storage {

/// kUnsupported, with the system's text for `error_number` and `cause`.
Error ring_error(std::string operation, int error_number, std::string cause);
/// What to do about an errno of io_uring; may be empty.
std::string advice_for_ring(int error_number);

/// A ring that is closed at its end.
class Ring {
 public:
  Ring() = default;
  ~Ring() {
    if (flags_name_ != nullptr) ::io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Tries the set-up flags from best to none.
  Status open(unsigned entries);

  io_uring& get() noexcept { return ring_; }
  const char* flags_name() const noexcept { return flags_name_; }

 private:
  io_uring ring_{};
  const char* flags_name_ = nullptr;  ///< null: it was not set up
};

}  // namespace forebay::storage
