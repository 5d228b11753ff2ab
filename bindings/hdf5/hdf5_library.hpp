// SPDX-License-Identifier: Apache-2.0
// Hdf5Library: functions of the HDF5 that called the driver. A process can have several HDF5, which
// wheels of Python load privately, so the driver is linked to none and finds its caller's.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <string>

#include "hdf5/hdf5_abi.hpp"

namespace forebay::hdf5 {

/// May be copied. Any thread.
class Hdf5Library {
 public:
  /// The library that contains `address`, or the first in its list of dependencies that defines a
  /// symbol.
  explicit Hdf5Library(const void* address);

  /// A function, as a pointer; null if this HDF5 lacks it, or does not export its symbols.
  template <class Function>
  Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(symbol(name));
  }
  /// The value of a variable, such as the identifier of an error class; 0 if it is absent.
  Id variable(const char* name) const noexcept;

  /// The text that the program passed with the driver to a file access property list, else
  /// HDF5_DRIVER_CONFIG.
  std::string driver_configuration(Id access_list) const;

  /// Adds the error to HDF5's stack. Without access to the stack, prints it to standard error.
  /// `operation` is the function of the driver that fails.
  void push_error(const char* operation, const Error& error) const noexcept;

 private:
  void* symbol(const char* name) const noexcept;
  std::shared_ptr<void> handle_;
};

}  // namespace forebay::hdf5
