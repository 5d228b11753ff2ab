// SPDX-License-Identifier: Apache-2.0
// How long begin_step() blocks an application where creating a file takes 5 ms: measured on a mount
// of emufs with that cost.
#include <forebay/runtime.hpp>

#include <chrono>
#include <thread>

#include <fcntl.h>

#include "base/descriptor.hpp"
#include "bench/checkpoint/call_rows.hpp"
#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kId = "ckpt.open_us";
constexpr double kCreateUs = 5000;
constexpr std::uint64_t kBlockBytes = 64_KiB;
/// Between steps, longer than the time until a step of this size is durable there.
constexpr std::chrono::milliseconds kPause{200};

model::Machine machine_with_slow_creates() {
  model::Machine machine = emufs::machine_named("lustre-small");
  machine.name = "slow-creates";
  machine.about = "lustre-small with slow creates";
  machine.metadata.create_us = kCreateUs;
  machine.sources["metadata.create_us"] = "Chosen: 5 ms, so that each create is measurable.";
  return machine;
}

/// The time for which a program without Forebay waits at a create.
Result<double> time_create(const std::filesystem::path& path) {
  const Stopwatch watch;
  const Descriptor made(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  const double seconds = watch.seconds();
  if (made) return seconds * kMicroseconds;
  return failure(system_error({.operation = "create", .path = path.string()}, errno));
}

/// Of one dataset: begin_step() right after opening, and after pauses.
struct BeginTimes {
  std::vector<double> immediate_us;
  std::vector<double> begin_us;
  std::vector<double> total_us;  ///< until commit() has returned
  std::vector<double> create_us;
};

void measure_round(const std::filesystem::path& directory, std::uint64_t steps, BeginTimes& times) {
  const std::vector<std::byte> block(kBlockBytes);
  Runtime runtime;
  auto dataset = runtime.create_dataset(directory / "run.fb").value();
  for (std::uint64_t number = 0; number <= steps; ++number) {
    if (number > 0) std::this_thread::sleep_for(kPause);
    const Stopwatch watch;
    auto step = dataset.begin_step(number).value();
    const double begun_us = watch.seconds() * kMicroseconds;
    check(step.put("block", Part{0}, block));
    Future<Receipt> receipt = step.commit();
    (number == 0 ? times.immediate_us : times.begin_us).push_back(begun_us);
    if (number > 0) times.total_us.push_back(watch.seconds() * kMicroseconds);
    receipt.wait().value();
  }
  check(dataset.close());
}

}  // namespace

Status bench_begin_step(Context& context) {
  const std::string machine =
      emufs::write_machine(context.directory(), machine_with_slow_creates());
  const auto mounted = emufs::EmufsMount::make(context.directory(), {.machine = machine}).value();
  const auto steps = context.choose<std::uint64_t>(5, 2);
  BeginTimes times;
  for (unsigned round = 0; round <= kRounds; ++round) {
    if (round == 1) times = BeginTimes();  // before was the warm-up
    const std::filesystem::path directory = mounted->path() / std::to_string(round);
    std::filesystem::create_directory(directory);
    measure_round(directory, steps, times);
    times.create_us.push_back(time_create(directory / "created").value());
    context.report({round + 1, kRounds + 1, "rounds", kId});
  }
  context.add({kId,
               "us",
               summarize(times.begin_us),
               Goal{200},
               {{"begin_step right after opening", "us", summarize(times.immediate_us)},
                {"begin_step, put and commit", "us", summarize(times.total_us)},
                {"open(O_CREAT)", "us", summarize(times.create_us)}}});
  return {};
}

FOREBAY_BENCHMARK(checkpoint, "methods of checkpointing compared, until all bytes are on storage") {
  return run_each(context, {{{"ckpt.perceived.adopt_us"}, bench_adopt},
                            {{"ckpt.perceived.over_memcpy"}, bench_put},
                            {{kId}, bench_begin_step, emufs::mount_unavailable_reason}});
}

}  // namespace forebay::bench::checkpoint
