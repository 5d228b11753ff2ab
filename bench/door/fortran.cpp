// SPDX-License-Identifier: Apache-2.0
// Steps of one field, from opening the dataset until the last one is durable: in Fortran, and in
// C++. A new dataset in each run.
#include <forebay/runtime.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <forebay.h>

#include "bench/door/door.hpp"
#include "bench/frame/clock.hpp"

#ifdef FOREBAY_HAS_FORTRAN
extern "C" int forebay_bench_fortran_checkpoint(const char* path,
                                                const double* values,
                                                std::int64_t elements,
                                                std::int64_t steps);
#else
static int forebay_bench_fortran_checkpoint(const char*,
                                            const double*,
                                            std::int64_t,
                                            std::int64_t) {
  return FOREBAY_UNSUPPORTED;
}
#endif

namespace forebay::bench::door {

namespace {

constexpr std::uint64_t kSteps = 4;

void write_in_cpp(const std::string& path, const std::vector<double>& values) {
  Runtime runtime;
  auto dataset = runtime.create_dataset(path).value();
  std::optional<Future<Receipt>> committed;
  for (std::uint64_t number = 1; number <= kSteps; ++number) {
    auto step = dataset.begin_step(number).value();
    check(step.put("values", Part{0}, values, {values.size()}));
    committed.emplace(step.commit());
  }
  check(dataset.close());
}

void write_in_fortran(const std::string& path, const std::vector<double>& values) {
  const int status = forebay_bench_fortran_checkpoint(
      path.c_str(), values.data(), static_cast<std::int64_t>(values.size()), kSteps);
  if (status != 0)
    check(failure({.kind = static_cast<ErrorClass>(status - 1),
                   .operation = "write a checkpoint in Fortran",
                   .path = path,
                   .cause = "the program failed"}));
}

}  // namespace

Status bench_fortran(Context& context) {
  const std::uint64_t bytes = context.choose(64_MiB, 4_MiB);
  check(context.require_space(kSteps * bytes));
  const std::vector<double> values(bytes / sizeof(double), 1.0);
  const std::string path = (context.directory() / "fortran.fb").string();
  const auto clear = [&]() -> Status {
    std::filesystem::remove_all(path);
    return {};
  };
  const auto timed = [&](auto write) {
    return [&, write] {
      const Stopwatch watch;
      write(path, values);
      return watch.seconds();
    };
  };
  context.set_parameter("fortran_step_bytes", bytes);
  const Status compared =
      context.compare({.rows = {{"door.fortran", ratio_of("cpp", "fortran"),
                                 Goal{.value = 0.97, .better = Better::kHigher}}},
                       .rounds = 31,  // storage varies more than the languages differ
                       .variants = {{"cpp", clear, timed(write_in_cpp)},
                                    {"fortran", clear, timed(write_in_fortran)}}});
  check(clear());
  return compared;
}

}  // namespace forebay::bench::door
