// SPDX-License-Identifier: Apache-2.0
#include "hdf5/hdf5_library.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

namespace forebay::hdf5 {
namespace {

void close_handle(void* handle) {
  if (handle != nullptr) ::dlclose(handle);
}

// h5py finds the class of its exception, such as FileNotFoundError, by these words.
std::string text_for_stack(const Error& error) {
  std::string text = error.message();
  if (error.error_number() != 0) text += ", errno = " + std::to_string(error.error_number());
  return text;
}

}  // namespace

Hdf5Library::Hdf5Library(const void* address) {
  Dl_info found{};
  void* handle = nullptr;
  if (::dladdr(address, &found) != 0) handle = ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  // The program itself contains HDF5, or is linked to it.
  if (handle == nullptr) handle = ::dlopen(nullptr, RTLD_LAZY);
  handle_ = std::shared_ptr<void>(handle, close_handle);
}

void* Hdf5Library::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_.get(), name);
}

Id Hdf5Library::variable(const char* name) const noexcept {
  const auto* value = static_cast<const Id*>(symbol(name));
  return value == nullptr ? 0 : *value;
}

std::string Hdf5Library::driver_configuration(Id access_list) const {
  std::array<char, 1024> text{};
  using Get = std::ptrdiff_t(Id, char*, std::size_t);
  Get* const get = function<Get>("H5Pget_driver_config_str");  // since 1.14
  if (get != nullptr && get(access_list, text.data(), text.size()) > 0) return text.data();
  const char* fallback = std::getenv("HDF5_DRIVER_CONFIG");
  return fallback == nullptr ? "" : fallback;
}

void Hdf5Library::push_error(const char* operation, const Error& error) const noexcept {
  const bool is_open = std::string_view(operation) == "open";
  const bool is_write = std::string_view(operation) != "read";
  const Id kind = variable("H5E_ERR_CLS_g");
  const Id major = variable(is_open ? "H5E_FILE_g" : "H5E_IO_g");
  const char* const number = is_open    ? "H5E_CANTOPENFILE_g"
                             : is_write ? "H5E_WRITEERROR_g"
                                        : "H5E_READERROR_g";
  const Id minor = variable(number);
  const std::string text = text_for_stack(error);
  using Push = ReturnCode(Id, const char*, const char*, unsigned, Id, Id, Id, const char*, ...);
  Push* const push = function<Push>("H5Epush2");
  if (push == nullptr || kind == 0 || major == 0 || minor == 0)
    std::fprintf(stderr, "forebay: %s\n", text.c_str());
  else
    push(kDefaultErrorStack, "forebay", operation, 0, kind, major, minor, "%s", text.c_str());
}

}  // namespace forebay::hdf5
