// SPDX-License-Identifier: Apache-2.0
// H5Fopen() and H5Fcreate() for programs with HDF5 1.10 or 1.12, which load no drivers: if this
// library is preloaded and HDF5_DRIVER is "forebay", files that would be opened by the driver sec2
// are opened by this one. Later versions load the driver as a plugin.
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include <dlfcn.h>

#include "hdf5/driver.hpp"
#include "hdf5/hdf5_library.hpp"

#define FOREBAY_HDF5_ENTRY extern "C" [[gnu::visibility("default")]]

namespace forebay::hdf5 {
namespace {

// The function that the program would call without this library: of the caller's own HDF5, which
// may be private to it, or of the program's.
void* real_function(const char* name, void* own, const void* caller) {
  Dl_info found{};
  void* function = nullptr;
  if (::dladdr(caller, &found) != 0) {
    void* handle = ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) {
      function = ::dlsym(handle, name);
      ::dlclose(handle);
    }
  }
  return function == nullptr || function == own ? ::dlsym(RTLD_NEXT, name) : function;
}

// Property lists and drivers of one HDF5.
class OldHdf5 {
 public:
  explicit OldHdf5(const void* address) : address_(address), library_(address) {}

  /// A list with this driver, to be closed; 0 to keep `access_list`.
  Id list_with_driver(Id access_list) const {
    const void* type = needed_class();
    if (type == nullptr) return 0;
    if (access_list == kDefaultList) access_list = library_.variable("H5P_LST_FILE_ACCESS_ID_g");
    if (call("H5Pget_driver", access_list) != call("H5FD_sec2_init")) return 0;
    const Id list = call("H5Pcopy", access_list);
    auto* set = library_.function<ReturnCode(Id, Id, const void*)>("H5Pset_driver");
    return list > 0 && set(list, driver_of(type), nullptr) >= 0 ? list : 0;
  }
  /// Keeps the error stack of the last call, which H5Pclose() would clear.
  void close(Id list) const {
    const Id errors = library_.function<Id()>("H5Eget_current_stack")();
    library_.function<ReturnCode(Id)>("H5Pclose")(list);
    library_.function<ReturnCode(Id)>("H5Eset_current_stack")(errors);
  }

 private:
  const void* needed_class() const {
    const char* name = std::getenv("HDF5_DRIVER");
    if (name == nullptr || std::string_view(name) != kDriverName) return nullptr;
    unsigned major = 0, minor = 0, release = 0;
    auto* get = library_.function<ReturnCode(unsigned*, unsigned*, unsigned*)>("H5get_libversion");
    if (get == nullptr || get(&major, &minor, &release) < 0) return nullptr;
    return major == 1 && minor <= 12 ? driver_class(major, minor) : nullptr;
  }
  // Registered once in each HDF5: files of two drivers are never the same file to it.
  Id driver_of(const void* type) const {
    static std::mutex mutex;
    static std::map<const void*, Id> drivers;
    const std::lock_guard lock(mutex);
    Id& driver = drivers[address_];
    if (library_.function<int(Id)>("H5Iis_valid")(driver) <= 0)
      driver = library_.function<Id(const void*)>("H5FDregister")(type);
    return driver;
  }
  template <class... Arguments>
  Id call(const char* name, Arguments... arguments) const {
    return library_.function<Id(Arguments...)>(name)(arguments...);
  }

  const void* address_;
  Hdf5Library library_;
};

template <class Call>
Id with_driver(const void* real, Id access_list, Call call) {
  const OldHdf5 library(real);
  const Id list = library.list_with_driver(access_list);
  const Id file = call(list == 0 ? access_list : list);
  if (list != 0) library.close(list);
  return file;
}

}  // namespace
}  // namespace forebay::hdf5

using forebay::hdf5::Id;

// NOLINTBEGIN(readability-identifier-naming)
FOREBAY_HDF5_ENTRY Id H5Fopen(const char* name, unsigned flags, Id access_list) {
  void* const real = forebay::hdf5::real_function("H5Fopen", reinterpret_cast<void*>(&H5Fopen),
                                                  __builtin_return_address(0));
  return forebay::hdf5::with_driver(real, access_list, [&](Id list) {
    return reinterpret_cast<decltype(&H5Fopen)>(real)(name, flags, list);
  });
}

FOREBAY_HDF5_ENTRY Id H5Fcreate(const char* name, unsigned flags, Id creation, Id access_list) {
  void* const real = forebay::hdf5::real_function("H5Fcreate", reinterpret_cast<void*>(&H5Fcreate),
                                                  __builtin_return_address(0));
  return forebay::hdf5::with_driver(real, access_list, [&](Id list) {
    return reinterpret_cast<decltype(&H5Fcreate)>(real)(name, flags, creation, list);
  });
}
// NOLINTEND(readability-identifier-naming)
