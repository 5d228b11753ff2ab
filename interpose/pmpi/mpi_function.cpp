// SPDX-License-Identifier: Apache-2.0
#include "interpose/pmpi/mpi_function.hpp"

#include <climits>
#include <cstring>

#include <link.h>

namespace forebay::interpose {

namespace {

/// Null if the loaded object of this name is not linked to MPI.
void* mpi_of(const char* name) noexcept {
  void* const object = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return nullptr;
  const void* const inside = ::dlsym(object, "PMPI_File_get_position");  // not wrapped
  Dl_info found{};
  void* mpi = nullptr;
  if (inside != nullptr && ::dladdr(inside, &found) != 0)
    mpi = ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  ::dlclose(object);
  return mpi;
}

struct NthObject {
  std::size_t left;
  char name[PATH_MAX];
};

/// Copies the name: dlopen() in this function could wait for a thread that waits for this one.
int copy_nth(dl_phdr_info* info, std::size_t, void* data) {
  auto* const object = static_cast<NthObject*>(data);
  if (object->left-- > 0) return 0;
  std::strncpy(object->name, info->dlpi_name, sizeof object->name - 1);
  return 1;
}

}  // namespace

void* find_mpi() noexcept {
  static constinit std::atomic<void*> library{nullptr};
  void* known = library.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* mpi = nullptr;
  NthObject object{};
  for (std::size_t i = 0; mpi == nullptr; ++i) {
    object.left = i;
    if (::dl_iterate_phdr(copy_nth, &object) == 0) return nullptr;
    mpi = mpi_of(object.name);
  }
  if (library.compare_exchange_strong(known, mpi)) return mpi;
  ::dlclose(mpi);  // another thread was first
  return known;
}

}  // namespace forebay::interpose
