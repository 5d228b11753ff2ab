// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/rounds_of_case.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

/// A named runner of rounds.
struct Runner {
  std::string name;
  std::function<Result<TrialResult>(std::size_t round)> run;
  std::function<Status()> prepare = nullptr;  ///< once, before all rounds
};

TrialRequest trial_of(const Case& bench_case, const RoundsSettings& settings) {
  TrialRequest trial;
  trial.kind = TrialKind::kWrite;
  trial.writers = bench_case.writers;
  trial.readers = bench_case.readers;
  trial.steps = bench_case.steps;
  trial.sizes = bench_case.sizes;
  trial.step_bytes = settings.step_bytes;
  trial.application.compute_kind = bench_case.compute_kind;
  trial.application.units = Computation(bench_case.compute_kind).units_in(settings.computing_s);
  trial.set_directory(settings.directory / "run");
  return trial;
}

Result<TrialResult> write_with_fio(const std::filesystem::path& directory,
                                   std::uint64_t bytes,
                                   const FioSetting& setting) {
  if (auto made = make_empty_on_storage(directory); !made) return failure(made.error());
  const auto seconds = fio_write(directory, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return TrialResult{.blocked_s = *seconds,
                     .total_s = *seconds,
                     .durable_s = *seconds,
                     .payload_bytes = static_cast<double>(bytes)};
}

Result<TrialResult> read_with_fio(const std::filesystem::path& directory,
                                  std::uint64_t bytes,
                                  const FioSetting& setting) {
  const auto seconds = fio_read(directory, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return TrialResult{.blocked_s = *seconds, .payload_bytes = static_cast<double>(bytes)};
}

Runner fio_writer(const Case& bench_case, const RoundsSettings& settings) {
  const auto directory = settings.directory / kFio;
  const std::uint64_t bytes = settings.step_bytes * bench_case.steps;
  const FioSetting setting = settings.fio.writing.fastest->setting;
  return {std::string(kFio),
          [=](std::size_t) { return write_with_fio(directory, bytes, setting); }};
}

/// Each step consists of new files in a separate directory.
Runner fio_reader(const Case& bench_case, const RoundsSettings& settings) {
  const auto directory = settings.directory / kFio;
  const std::uint64_t bytes = settings.step_bytes;
  const FioSetting setting = settings.fio.reading.fastest->setting;
  const std::uint32_t steps = bench_case.steps;
  const auto directory_of = [directory](std::size_t step) {
    return directory / std::to_string(step);
  };
  const auto prepare = [=]() -> Status {
    for (std::uint32_t step = 0; step < steps; ++step) {
      const auto written = write_with_fio(directory_of(step), bytes, setting);
      if (!written) return failure(written.error());
    }
    return {};
  };
  const auto run = [=](std::size_t round) {
    return read_with_fio(directory_of(round), bytes, setting);
  };
  return {std::string(kFio), run, prepare};
}

bool is_included(const std::string& name, const RoundsSettings& settings) {
  const auto& names = settings.names;
  return names.empty() || names.contains(name) || names.contains(family_of(name));
}

bool is_included(const Candidate& candidate,
                 const Case& bench_case,
                 const RoundsSettings& settings) {
  if (!is_included(candidate.name(), settings) || candidate.ranks_min() > bench_case.writers)
    return false;
  if (bench_case.scope == Scope::kMemory) return family_of(candidate.name()) == kForebayFamily;
  if (candidate.scope() == Scope::kMemory) return false;
  return bench_case.readers == 0 || candidate.can_read();
}

Runner writer_of(const Candidate& candidate, const TrialRequest& trial) {
  const auto write = [trial](std::size_t round) {
    TrialRequest mine = trial;
    // In the discarded first round, where the check disturbs no counted round.
    if (round == 0) mine.check = CheckLevel::kContent;
    return trial_harness().run(mine);
  };
  return {candidate.name(), write};
}

Runner reader_of(const Candidate& candidate, TrialRequest trial, const RoundsSettings& settings) {
  trial.set_directory(settings.directory / "run" / candidate.name());
  const auto write = [trial]() -> Status {
    const auto written = trial_harness().run(trial);
    return written ? Status() : Status(failure(written.error()));
  };
  trial.kind = TrialKind::kRestart;
  const auto read = [trial](std::size_t round) {
    TrialRequest mine = trial;
    mine.step = static_cast<std::uint32_t>(round);
    return trial_harness().run(mine);
  };
  return {candidate.name(), read, write};
}

std::vector<Runner> runners_of(const Case& bench_case, const RoundsSettings& settings) {
  const TrialRequest trial = trial_of(bench_case, settings);
  std::vector<Runner> runners;
  for (std::uint32_t index = 0; index < all_candidates().size(); ++index) {
    const Candidate& candidate = *all_candidates()[index];
    if (!is_included(candidate, bench_case, settings)) continue;
    TrialRequest mine = trial;
    mine.candidate = index;
    runners.push_back(bench_case.readers > 0 ? reader_of(candidate, mine, settings)
                                             : writer_of(candidate, mine));
  }
  if (bench_case.compute_kind != ComputeKind::kNone)
    runners.push_back(
        {std::string(kComputeOnly), [trial](std::size_t) { return trial_harness().run(trial); }});
  const FioTuning& fio = bench_case.readers > 0 ? settings.fio.reading : settings.fio.writing;
  if (has_fio(bench_case) && is_included(std::string(kFio), settings) && fio.fastest)
    runners.push_back(bench_case.readers > 0 ? fio_reader(bench_case, settings)
                                             : fio_writer(bench_case, settings));
  return runners;
}

/// Removes files of candidates and of fio, so that the next run is not slowed by them.
void remove_files(const RoundsSettings& settings) {
  for (const std::string_view name : {std::string_view("run"), kFio})
    (void)make_empty_on_storage(settings.directory / name);
}

}  // namespace

std::size_t concurrent_copies(const Case& bench_case, const RoundsSettings& settings) {
  return bench_case.readers == 0 ? kCopiesMin
                                 : std::max(kCopiesMin, runners_of(bench_case, settings).size());
}

std::map<std::string, std::string> run_case(const Case& bench_case,
                                            const RoundsSettings& settings,
                                            Samples& samples) {
  FOREBAY_ASSERT(bench_case.readers == 0 || settings.rounds < bench_case.steps);
  std::map<std::string, std::string> failed;
  const std::vector<Runner> runners = runners_of(bench_case, settings);
  const std::size_t prepared = bench_case.readers == 0 ? 0 : runners.size();
  const std::size_t all_runs = prepared + (settings.rounds + 1) * runners.size();
  std::size_t done = 0;
  for (const Runner& runner : runners) {
    if (!runner.prepare) continue;
    ++done;
    if (const Status ready = runner.prepare(); !ready)
      failed[runner.name] = ready.error().message();
    if (settings.on_progress) settings.on_progress(done, all_runs);
  }
  for (std::size_t round = 0; round <= settings.rounds; ++round) {
    for (const std::size_t index : order_of_round(round, runners.size())) {
      const Runner& runner = runners[index];
      ++done;
      if (failed.contains(runner.name)) continue;
      const auto measured = runner.run(round);
      if (bench_case.readers == 0) remove_files(settings);
      if (!measured) failed[runner.name] = measured.error().message();
      if (measured && round > 0) samples.add(bench_case, runner.name, *measured);
      if (settings.on_progress) settings.on_progress(done, all_runs);
    }
  }
  remove_files(settings);
  for (const auto& [name, why] : failed)
    samples.remove(bench_case, name);
  return failed;
}

}  // namespace forebay::bench::checkpoint
