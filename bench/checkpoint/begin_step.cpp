// SPDX-License-Identifier: Apache-2.0
// How long begin_step() blocks an application where creating a file takes 5 ms: measured on a mount
// of emufs with that cost.
#include <forebay/runtime.hpp>

#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>

#include "base/descriptor.hpp"
#include "bench/checkpoint/call_rows.hpp"
#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/clock.hpp"
#include "model/machine.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kId = "ckpt.open_us";
constexpr double kCreateUs = 5000;
constexpr std::uint64_t kBlockBytes = 64_KiB;
/// Between steps, longer than the time until a step of this size is durable there.
constexpr std::chrono::milliseconds kPause{200};

/// Writes lustre-small with slow creates as a machine file in the benchmark's directory.
Result<std::filesystem::path> write_machine(const std::filesystem::path& directory) {
  auto machine =
      model::load_machine("lustre-small", model::machine_directories(process_environment()));
  if (!machine) return failure(machine.error());
  machine->name = "slow-creates";
  machine->about = "lustre-small with slow creates";
  machine->metadata.create_us = kCreateUs;
  machine->sources["metadata.create_us"] = "Chosen: 5 ms, so that each create is measurable.";
  const std::filesystem::path path = directory / "slow-creates.toml";
  std::ofstream file(path);
  file << model::to_toml(*machine);
  file.close();
  if (file) return path;
  return failure(system_error({.operation = "write", .path = path.string()}, errno));
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

Status measure_round(const std::filesystem::path& directory,
                     std::uint64_t steps,
                     BeginTimes& times) {
  const std::vector<std::byte> block(kBlockBytes);
  Runtime runtime;
  auto dataset = runtime.create_dataset(directory / "run.fb");
  if (!dataset) return failure(dataset.error());
  for (std::uint64_t number = 0; number <= steps; ++number) {
    if (number > 0) std::this_thread::sleep_for(kPause);
    const Stopwatch watch;
    auto step = dataset->begin_step(number);
    const double begun_us = watch.seconds() * kMicroseconds;
    if (!step) return failure(step.error());
    if (Status put = step->put("block", Part{0}, block); !put) return put;
    Future<Receipt> receipt = step->commit();
    (number == 0 ? times.immediate_us : times.begin_us).push_back(begun_us);
    if (number > 0) times.total_us.push_back(watch.seconds() * kMicroseconds);
    if (const auto durable = receipt.wait(); !durable) return failure(durable.error());
  }
  return dataset->close();
}

Result<BeginTimes> measure(Context& context, const std::filesystem::path& mount) {
  const auto steps = context.choose<std::uint64_t>(5, 2);
  BeginTimes times;
  for (unsigned round = 0; round <= kRounds; ++round) {
    if (round == 1) times = BeginTimes();  // before was the warm-up
    const std::filesystem::path directory = mount / std::to_string(round);
    std::filesystem::create_directory(directory);
    if (auto done = measure_round(directory, steps, times); !done) return failure(done.error());
    const auto created = time_create(directory / "created");
    if (!created) return failure(created.error());
    times.create_us.push_back(*created);
    context.report({round + 1, kRounds + 1, "rounds", kId});
  }
  return times;
}

}  // namespace

Status bench_begin_step(Context& context) {
  if (!context.is_selected(kId)) return {};
  if (const std::string why = emufs::mount_unavailable_reason(); !why.empty()) {
    context.skip(kId, why);
    return {};
  }
  const auto machine = write_machine(context.directory());
  if (!machine) return failure(machine.error());
  const auto mounted = emufs::EmufsMount::make(context.directory(), {.machine = machine->string()});
  if (!mounted) return failure(mounted.error());
  const auto times = measure(context, (*mounted)->path());
  if (!times) return failure(times.error());
  context.add({.id = kId,
               .unit = "us",
               .measured = summarize(times->begin_us),
               .goal = Goal{200, Better::kLower},
               .peers = {{"begin_step right after opening", "us", summarize(times->immediate_us)},
                         {"begin_step, put and commit", "us", summarize(times->total_us)},
                         {"open(O_CREAT)", "us", summarize(times->create_us)}}});
  return {};
}

FOREBAY_BENCHMARK(checkpoint, "methods of checkpointing compared, until all bytes are on storage") {
  for (const auto bench : {&bench_adopt, &bench_put, &bench_begin_step})
    if (auto done = bench(context); !done) return done;
  return {};
}

}  // namespace forebay::bench::checkpoint
