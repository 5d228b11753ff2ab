// SPDX-License-Identifier: Apache-2.0
// The shared objects of this process. The dynamic linker opens, reads and maps them by calls inside
// it that no library can wrap, so they are announced at the end, for the next run.
#include <link.h>

#include "interpose/posix/recorder.hpp"
#include "trace/run_memory.hpp"

namespace forebay::interpose {

namespace {

/// The program has no name. That of the kernel's object has no slash.
int announce_library(dl_phdr_info* object, std::size_t /*size*/, void* /*data*/) noexcept {
  const char* const name = object->dlpi_name;
  const bool is_program = name == nullptr || name[0] == 0;
  trace::RunOpen open;
  if (!describe_file(is_program ? "/proc/self/exe" : name, open)) return 0;
  open.kind = trace::RunOpenKind::kLibrary;
  announce_file(open);
  return 0;
}

}  // namespace

void record_libraries() noexcept { ::dl_iterate_phdr(announce_library, nullptr); }

}  // namespace forebay::interpose
