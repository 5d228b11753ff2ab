// SPDX-License-Identifier: Apache-2.0
// Ring: an io_uring instance with the best flags that the kernel accepts, closed by its destructor.
// Only this header includes liburing.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <liburing.h>

namespace forebay::storage {

/// kUnsupported, with the system's text for `error_number`, and `cause`.
Error ring_error(std::string operation, int error_number, std::string cause);
/// Advice for an errno of io_uring; may be empty.
std::string ring_error_hint(int error_number);

/// A ring that its destructor closes.
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
  const char* flags_name_ = nullptr;  ///< null: not set up
};

}  // namespace forebay::storage
