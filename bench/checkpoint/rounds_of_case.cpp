// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/rounds_of_case.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/fio_jobs.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

/// Who runs, and as what.
struct Runner {
  std::string name;
  std::function<Result<Measured>()> run;
};

Order order_of(const Case& in, const RoundsSettings& settings) {
  Order order;
  order.task = in.readers > 0 ? Task::kRestart : Task::kWrite;
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
  if (auto made = make_empty(folder); !made) return failure(made.error());
  const auto seconds = fio_write(folder, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return Measured{.blocked_s = *seconds,
                  .total_s = *seconds,
                  .durable_s = *seconds,
                  .payload_bytes = static_cast<double>(bytes)};
}

/// What was written beforehand, as its file stays from round to round.
Result<Measured> read_with_fio(const std::filesystem::path& folder,
                               std::uint64_t bytes,
                               const FioSetting& setting) {
  const auto seconds = fio_read(folder, bytes, setting);
  if (!seconds) return failure(seconds.error());
  return Measured{.blocked_s = *seconds, .payload_bytes = static_cast<double>(bytes)};
}

Result<Runner> fio_runner(const Case& in, const RoundsSettings& settings) {
  const auto folder = settings.folder / "fio";
  if (in.readers == 0) {
    const std::uint64_t bytes = settings.step_bytes * in.steps;
    const FioSetting setting = settings.fio.writing.setting;
    return Runner{std::string(kFio), [=] { return write_with_fio(folder, bytes, setting); }};
  }
  const std::uint64_t bytes = settings.step_bytes;
  const FioSetting setting = settings.fio.reading.setting;
  const auto written = write_with_fio(folder, bytes, setting);
  if (!written) return failure(written.error());
  return Runner{std::string(kFio), [=] { return read_with_fio(folder, bytes, setting); }};
}

bool takes_part(const Contender& contender, const Case& in) {
  if (contender.ranks_min() > in.writers) return false;
  if (in.scope == Scope::kMemory) return family_of(contender.name()) == kOurs;
  if (contender.scope() == Scope::kMemory) return false;
  return in.readers == 0 || contender.can_read();
}

std::vector<Runner> contenders_of(const Case& in, const Order& order) {
  std::vector<Runner> runners;
  for (std::uint32_t index = 0; index < all_contenders().size(); ++index) {
    const Contender& contender = *all_contenders()[index];
    if (!takes_part(contender, in)) continue;
    Order mine = order;
    mine.contender = index;
    runners.push_back({contender.name(), [mine] { return everybody().order(mine); }});
  }
  if (in.computing != Computing::kNone)
    runners.push_back({std::string(kComputingAlone), [order] { return everybody().order(order); }});
  return runners;
}

/// Leaves nothing for the next one to be slowed down by.
void clear(const RoundsSettings& settings) {
  (void)make_empty(settings.folder / "run");
  (void)sync_all(settings.folder / "run");
}

}  // namespace

std::map<std::string, std::string> run_case(const Case& in,
                                            const RoundsSettings& settings,
                                            Samples& samples) {
  std::map<std::string, std::string> failed;
  std::vector<Runner> runners = contenders_of(in, order_of(in, settings));
  if (has_fio(in) && why_no_fio_jobs().empty()) {
    auto fio = fio_runner(in, settings);
    if (fio) {
      runners.push_back(std::move(*fio));
    } else {
      failed[std::string(kFio)] = fio.error().message();
    }
  }
  const std::size_t all_runs = (settings.rounds + 1) * runners.size();
  std::size_t done = 0;
  for (std::size_t round = 0; round <= settings.rounds; ++round) {
    for (const std::size_t which : order_of_round(round, runners.size())) {
      const Runner& runner = runners[which];
      ++done;
      if (failed.contains(runner.name)) continue;
      const auto measured = runner.run();
      clear(settings);
      if (!measured) failed[runner.name] = measured.error().message();
      if (measured && round > 0) samples.add(in, runner.name, *measured);
      if (settings.on_progress) settings.on_progress(done, all_runs);
    }
  }
  for (const auto& [name, why] : failed)
    samples.forget(in, name);
  return failed;
}

}  // namespace forebay::bench::checkpoint
