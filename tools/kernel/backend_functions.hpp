// SPDX-License-Identifier: Apache-2.0
// The functions of a backend as members of a class.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>

#include "kernels/backend.h"

namespace forebay::kernel {

/// Keeps the first failure of a rank, and returns -1.
inline int fail(fk_job& job, const Error& error) {
  if (job.error[0] == '\0')
    std::snprintf(job.error, sizeof job.error, "%s", error.message().c_str());
  return -1;
}

/// `backend` with the functions of `Run`, which has a member for each function of fk_backend, with
/// references in place of pointers, and a constructor from fk_job&.
template <class Run>
constexpr fk_backend with_functions_of(fk_backend backend) {
  backend.start = [](fk_job* job) -> void* {
    auto run = std::make_unique<Run>(*job);
    run->start();
    return fk_agree(job) == 0 ? run.release() : nullptr;
  };
  backend.begin_write = [](void* state, const fk_array* arrays, std::size_t count) {
    return static_cast<Run*>(state)->begin_write(arrays, count);
  };
  backend.memory = [](void* state, const fk_array* array, void* own) {
    return static_cast<Run*>(state)->memory(*array, own);
  };
  backend.write = [](void* state, const fk_array* array, const void* memory) {
    return static_cast<Run*>(state)->write(*array, memory);
  };
  backend.end_write = [](void* state) { return static_cast<Run*>(state)->end_write(); };
  backend.begin_read = [](void* state, const fk_array* arrays, std::size_t /*count*/) {
    return static_cast<Run*>(state)->begin_read(arrays);
  };
  backend.read = [](void* state, const fk_array* array, const fk_calls* calls, void* memory) {
    return static_cast<Run*>(state)->read(*array, *calls, static_cast<std::byte*>(memory));
  };
  backend.end_read = [](void* state) { return static_cast<Run*>(state)->end_read(); };
  backend.make_durable = [](void* state) { return static_cast<Run*>(state)->make_durable(); };
  backend.report = [](const void* state, fk_report* report) {
    static_cast<const Run*>(state)->report(*report);
  };
  backend.finish = [](void* state) {
    const std::unique_ptr<Run> run(static_cast<Run*>(state));
    return run->finish();
  };
  return backend;
}

}  // namespace forebay::kernel
