// SPDX-License-Identifier: Apache-2.0
// How long begin_step() blocks an application where creating a file takes 5 ms: measured on a mount
// of emufs with that cost.
#include <cerrno>
#include <fstream>

#include <fcntl.h>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "bench/checkpoint/forebay_rows.hpp"
#include "bench/checkpoint/trial_harness.hpp"
#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/clock.hpp"
#include "model/machine.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kId = "ckpt.open_us";
constexpr double kMicroseconds = 1e6;
constexpr double kCreateUs = 5000;
constexpr std::uint32_t kRanks = 2;
constexpr std::uint64_t kBlockBytes = 64_KiB;
/// Pause between steps, longer than the time until a step of this size is durable there.
constexpr double kPauseSeconds = 0.2;

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

TrialRequest trial_in(const std::filesystem::path& directory, std::uint32_t steps, double pause_s) {
  TrialRequest trial;
  trial.kind = TrialKind::kCall;
  trial.writers = kRanks;
  trial.step_bytes = kBlockBytes * kRanks;
  trial.call = {.call = TimedCall::kBeginStep, .steps = steps, .pause_s = pause_s};
  trial.set_directory(directory);
  return trial;
}

/// The time for which a program without Forebay waits at a create.
Result<double> time_create(const std::filesystem::path& directory) {
  static unsigned count = 0;
  const std::filesystem::path path = directory / ("created-" + std::to_string(count++));
  const Stopwatch watch;
  const Descriptor made(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  const double seconds = watch.seconds();
  if (made) return seconds;
  return failure(system_error({.operation = "create", .path = path.string()}, errno));
}

struct BeginTimes {
  std::vector<double> begin_us;
  std::vector<double> total_us;
  std::vector<double> immediate_us;
  std::vector<double> create_us;
};

Status measure_round(const std::filesystem::path& mount, std::uint32_t steps, BeginTimes& times) {
  const auto paced = trial_harness().run(trial_in(mount / "paced", steps, kPauseSeconds));
  if (!paced) return failure(paced.error());
  const auto immediate = trial_harness().run(trial_in(mount / "at-once", 1, 0));
  if (!immediate) return failure(immediate.error());
  const auto created = time_create(mount);
  if (!created) return failure(created.error());
  times.begin_us.push_back(paced->blocked_s * kMicroseconds);
  times.total_us.push_back(paced->total_s * kMicroseconds);
  times.immediate_us.push_back(immediate->blocked_s * kMicroseconds);
  times.create_us.push_back(*created * kMicroseconds);
  return {};
}

Result<BeginTimes> measure(Context& context, const std::filesystem::path& mount) {
  const auto steps = context.choose<std::uint32_t>(5, 2);
  BeginTimes times;
  for (unsigned round = 0; round <= kForebayRounds; ++round) {
    if (round == 1) times = BeginTimes();  // before was the warm-up
    if (auto done = measure_round(mount, steps, times); !done) return failure(done.error());
    context.report({round + 1, kForebayRounds + 1, "rounds", kId});
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
  if (trial_harness().size() < kRanks) {
    context.skip(kId, "two ranks are required");
    return {};
  }
  const auto machine = write_machine(context.directory());
  if (!machine) return failure(machine.error());
  const auto mounted = emufs::EmufsMount::make(context.directory(), {.machine = machine->string()});
  if (!mounted) return failure(mounted.error());
  const auto times = measure(context, (*mounted)->path());
  trial_harness().end_runtimes();  // they would keep files open there
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

}  // namespace forebay::bench::checkpoint
