// SPDX-License-Identifier: Apache-2.0
// The result of an MPI call as a Status. Files return their errors by default.
#pragma once

#include <forebay/error.hpp>

#include <string>

namespace forebay::bench::checkpoint {

/// Success if `code` is MPI_SUCCESS.
Status mpi_status(int code, const char* operation, const std::string& path);

}  // namespace forebay::bench::checkpoint
