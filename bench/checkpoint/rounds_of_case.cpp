// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/rounds_of_case.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

/// Who runs, and as what.
struct Runner {
  std::string name;
  std::function<Result<Measured>(std::size_t round)> run;
  std::function<Status()> prepare = nullptr;  ///< once, before all rounds
};

Order order_of(const Case& in, const RoundsSettings& settings) {
  Order order;
  order.task = Task::kWrite;
  order.writers = in.writers;
  order.readers = in.readers;
  order.steps = in.steps;
  order.sizes = in.sizes;
  order.step_bytes = settings.step_bytes;
  order.application.computing = in.computing;
  order.application.units = Computation(in.computing).units_in(settings.computing_s);
  order.set_folder(settings.folder / "run");
  return order;
}

Result<Measured> write_with_fio(const std::filesystem::path& folder,
                                std::uint64_t bytes,
                                const FioSetting& setting) {
  if (auto made = make_empty_on_storage(folder); !made) return failure(made.error());
  const auto seconds = fio_write(folder, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return Measured{.blocked_s = *seconds,
                  .total_s = *seconds,
                  .durable_s = *seconds,
                  .payload_bytes = static_cast<double>(bytes)};
}

Result<Measured> read_with_fio(const std::filesystem::path& folder,
                               std::uint64_t bytes,
                               const FioSetting& setting) {
  const auto seconds = fio_read(folder, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return Measured{.blocked_s = *seconds, .payload_bytes = static_cast<double>(bytes)};
}

Runner fio_writer(const Case& in, const RoundsSettings& settings) {
  const auto folder = settings.folder / kFio;
  const std::uint64_t bytes = settings.step_bytes * in.steps;
  const FioSetting setting = settings.fio.writing.chosen->setting;
  return {std::string(kFio), [=](std::size_t) { return write_with_fio(folder, bytes, setting); }};
}

/// Each step is files of its own in a folder of its own.
Runner fio_reader(const Case& in, const RoundsSettings& settings) {
  const auto folder = settings.folder / kFio;
  const std::uint64_t bytes = settings.step_bytes;
  const FioSetting setting = settings.fio.reading.chosen->setting;
  const std::uint32_t steps = in.steps;
  const auto folder_of = [folder](std::size_t step) { return folder / std::to_string(step); };
  const auto prepare = [=]() -> Status {
    for (std::uint32_t step = 0; step < steps; ++step) {
      const auto written = write_with_fio(folder_of(step), bytes, setting);
      if (!written) return failure(written.error());
    }
    return {};
  };
  const auto run = [=](std::size_t round) {
    return read_with_fio(folder_of(round), bytes, setting);
  };
  return {std::string(kFio), run, prepare};
}

bool takes_part(const std::string& name, const RoundsSettings& settings) {
  const auto& names = settings.names;
  return names.empty() || names.contains(name) || names.contains(family_of(name));
}

bool takes_part(const Contender& contender, const Case& in, const RoundsSettings& settings) {
  if (!takes_part(contender.name(), settings) || contender.ranks_min() > in.writers) return false;
  if (in.scope == Scope::kMemory) return family_of(contender.name()) == kOurs;
  if (contender.scope() == Scope::kMemory) return false;
  return in.readers == 0 || contender.can_read();
}

Runner writer_of(const Contender& contender, const Order& order) {
  const auto write = [order](std::size_t round) {
    Order mine = order;
    // Where no round is disturbed by it, as the first one does not count.
    if (round == 0) mine.check = Check::kContent;
    return everybody().order(mine);
  };
  return {contender.name(), write};
}

Runner reader_of(const Contender& contender, Order order, const RoundsSettings& settings) {
  order.set_folder(settings.folder / "run" / contender.name());
  const auto write = [order]() -> Status {
    const auto written = everybody().order(order);
    return written ? Status() : Status(failure(written.error()));
  };
  order.task = Task::kRestart;
  const auto read = [order](std::size_t round) {
    Order mine = order;
    mine.step = static_cast<std::uint32_t>(round);
    return everybody().order(mine);
  };
  return {contender.name(), read, write};
}

std::vector<Runner> runners_of(const Case& in, const RoundsSettings& settings) {
  const Order order = order_of(in, settings);
  std::vector<Runner> runners;
  for (std::uint32_t index = 0; index < all_contenders().size(); ++index) {
    const Contender& contender = *all_contenders()[index];
    if (!takes_part(contender, in, settings)) continue;
    Order mine = order;
    mine.contender = index;
    runners.push_back(in.readers > 0 ? reader_of(contender, mine, settings)
                                     : writer_of(contender, mine));
  }
  if (in.computing != Computing::kNone)
    runners.push_back(
        {std::string(kComputingAlone), [order](std::size_t) { return everybody().order(order); }});
  const FioBest& fio = in.readers > 0 ? settings.fio.reading : settings.fio.writing;
  if (has_fio(in) && takes_part(std::string(kFio), settings) && fio.chosen)
    runners.push_back(in.readers > 0 ? fio_reader(in, settings) : fio_writer(in, settings));
  return runners;
}

/// Leaves nothing for the next one to be slowed down by: neither of a contender nor of fio.
void clear(const RoundsSettings& settings) {
  for (const std::string_view name : {std::string_view("run"), kFio})
    (void)make_empty_on_storage(settings.folder / name);
}

}  // namespace

std::size_t copies_at_a_time(const Case& in, const RoundsSettings& settings) {
  return in.readers == 0 ? kCopiesMin : std::max(kCopiesMin, runners_of(in, settings).size());
}

std::map<std::string, std::string> run_case(const Case& in,
                                            const RoundsSettings& settings,
                                            Samples& samples) {
  FOREBAY_ASSERT(in.readers == 0 || settings.rounds < in.steps);
  std::map<std::string, std::string> failed;
  const std::vector<Runner> runners = runners_of(in, settings);
  const std::size_t prepared = in.readers == 0 ? 0 : runners.size();
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
    for (const std::size_t which : order_of_round(round, runners.size())) {
      const Runner& runner = runners[which];
      ++done;
      if (failed.contains(runner.name)) continue;
      const auto measured = runner.run(round);
      if (in.readers == 0) clear(settings);
      if (!measured) failed[runner.name] = measured.error().message();
      if (measured && round > 0) samples.add(in, runner.name, *measured);
      if (settings.on_progress) settings.on_progress(done, all_runs);
    }
  }
  clear(settings);
  for (const auto& [name, why] : failed)
    samples.forget(in, name);
  return failed;
}

}  // namespace forebay::bench::checkpoint
