// SPDX-License-Identifier: Apache-2.0
// Runs main() of a shared library that is loaded with RTLD_LOCAL, as interpreters load modules: the
// libraries that it is linked to, such as MPI, are then visible to it alone. A library without
// main() has open_and_return() (mpi_tail_call.cpp).
//
// Usage: local_library LIBRARY WORD...
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

/// Opens and closes a file by MPI.
bool can_open(void* library, const char* path) {
  const auto call = [&](const char* name, auto... arguments) {
    using Function = int (*)(decltype(arguments)...);
    return reinterpret_cast<Function>(::dlsym(library, name))(arguments...);
  };
  void* file = nullptr;
  return call("MPI_Init", nullptr, nullptr) == 0 && call("open_and_return", path, &file) == 0 &&
         call("MPI_File_close", &file) == 0 && call("MPI_Finalize") == 0;
}

}  // namespace

int main(int count, char** words) {
  void* const library = count > 1 ? ::dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  if (::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr) return 2;
  if (::dlsym(library, "open_and_return") != nullptr)
    return can_open(library, words[0]) ? EXIT_SUCCESS : EXIT_FAILURE;
  using Main = int (*)(int, char**);
  return reinterpret_cast<Main>(::dlsym(library, "main"))(count - 1, words + 1);
}
