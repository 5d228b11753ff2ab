// SPDX-License-Identifier: Apache-2.0
// The extension _forebay_mpi: communicators of mpi4py as ranks. Only a Runtime with a communicator
// imports it.
#include <forebay/mpi.hpp>

#include <cstdint>
#include <string>

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/python/failure.hpp"

namespace forebay::python {

namespace {

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// `address` is that of an MPI_Comm of the same MPI library.
Ranks ranks_at(std::uintptr_t address) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) refuse("use a communicator", "MPI is not initialized");
  const MPI_Comm communicator = *reinterpret_cast<const MPI_Comm*>(address);
  if (communicator == MPI_COMM_NULL)
    refuse("use a communicator", "it is MPI_COMM_NULL: freed, or of a group without this rank");
  return ranks_of(communicator);
}

}  // namespace

}  // namespace forebay::python

NB_MODULE(_forebay_mpi, module) {
  nb::set_leak_warnings(false);
  forebay::python::register_failures();
  nb::module_::import_("_forebay");  // has the type of the result
  module.def("library_version", &forebay::python::library_version,
             "Version of the MPI library of this extension.");
  module.def("ranks_at", &forebay::python::ranks_at, nb::arg("address"),
             nb::sig("def ranks_at(address: int) -> _forebay.Ranks"),
             "The ranks of the communicator at this address. Collective.");
}
