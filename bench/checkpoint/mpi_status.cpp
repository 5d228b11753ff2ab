// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/mpi_status.hpp"

#include <mpi.h>

namespace forebay::bench::checkpoint {

Status mpi_status(int code, const char* operation, const std::string& path) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  int kind = MPI_ERR_OTHER;
  MPI_Error_class(code, &kind);
  return failure({.kind = kind == MPI_ERR_NO_SPACE ? ErrorClass::kNoSpace : ErrorClass::kIo,
                  .operation = operation,
                  .path = path,
                  .cause = text});
}

}  // namespace forebay::bench::checkpoint
