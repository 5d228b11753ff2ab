// SPDX-License-Identifier: Apache-2.0
#include "bench/door/door.hpp"

namespace forebay::bench::door {

namespace {

std::string no_fortran_reason() {
#ifdef FOREBAY_HAS_FORTRAN
  return "";
#else
  return "this build has no Fortran compiler";
#endif
}

FOREBAY_BENCHMARK(door, "Forebay from other languages and libraries, beside their own ways") {
  const std::vector<RowGroup> groups = {
      {{"door.c_ns"}, bench_c_calls},
      {{"door.strided"}, bench_strided},
      {{"door.fortran"}, bench_fortran, no_fortran_reason},
      {{"door.view_us"}, bench_python_views, no_python_reason},
      {{"door.tasks"}, bench_python_tasks, no_python_reason},
  };
  return run_each(context, groups);
}

}  // namespace

}  // namespace forebay::bench::door
