// SPDX-License-Identifier: Apache-2.0
// How long begin_step() holds up an application where making a file takes 5 ms: on a mount of
// emufs, which plays such a storage.
#include <cerrno>
#include <fstream>

#include <fcntl.h>

#include "base/descriptor.hpp"
#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/own_rows.hpp"
#include "bench/emufs/mounted.hpp"
#include "bench/frame/clock.hpp"
#include "model/machine.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kId = "ckpt.open_us";
constexpr double kMicroseconds = 1e6;
constexpr double kCreateUs = 5000;
constexpr std::uint32_t kRanks = 2;
constexpr std::uint64_t kBlockBytes = 64_KiB;
/// Between steps, longer than a step of this size takes to be durable there.
constexpr double kPauseSeconds = 0.2;

/// lustre-small with slow creates, as a file in the benchmark's folder.
Result<std::filesystem::path> write_machine(const std::filesystem::path& folder) {
  auto machine = model::load_machine("lustre-small", model::machine_folders(process_environment()));
  if (!machine) return failure(machine.error());
  machine->name = "slow-creates";
  machine->about = "lustre-small, but for the time that it takes to make a file";
  machine->metadata.create_us = kCreateUs;
  machine->sources["metadata.create_us"] = "Chosen: 5 ms, so that each create is seen.";
  const std::filesystem::path path = folder / "slow-creates.toml";
  std::ofstream file(path);
  file << model::to_toml(*machine);
  file.close();
  if (file) return path;
  return failure(system_error({.operation = "write", .path = path.string()}, errno));
}

Order order_in(const std::filesystem::path& folder, std::uint32_t steps, double pause_s) {
  Order order;
  order.task = Task::kPiece;
  order.writers = kRanks;
  order.step_bytes = kBlockBytes * kRanks;
  order.piece = {.piece = Piece::kBeginStep, .steps = steps, .pause_s = pause_s};
  order.set_folder(folder);
  return order;
}

/// What a program waits for that makes its files itself.
Result<double> create_one(const std::filesystem::path& folder) {
  static unsigned count = 0;
  const std::filesystem::path path = folder / ("created-" + std::to_string(count++));
  const Stopwatch watch;
  const Descriptor made(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  const double seconds = watch.seconds();
  if (made) return seconds;
  return failure(system_error({.operation = "make", .path = path.string()}, errno));
}

struct Times {
  std::vector<double> begin_us;
  std::vector<double> all_us;
  std::vector<double> at_once_us;
  std::vector<double> create_us;
};

Status measure_round(const std::filesystem::path& mount, std::uint32_t steps, Times& times) {
  const auto paced = everybody().order(order_in(mount / "paced", steps, kPauseSeconds));
  if (!paced) return failure(paced.error());
  const auto at_once = everybody().order(order_in(mount / "at-once", 1, 0));
  if (!at_once) return failure(at_once.error());
  const auto created = create_one(mount);
  if (!created) return failure(created.error());
  times.begin_us.push_back(paced->blocked_s * kMicroseconds);
  times.all_us.push_back(paced->total_s * kMicroseconds);
  times.at_once_us.push_back(at_once->blocked_s * kMicroseconds);
  times.create_us.push_back(*created * kMicroseconds);
  return {};
}

Result<Times> measure(Context& context, const std::filesystem::path& mount) {
  const auto steps = context.choose<std::uint32_t>(5, 2);
  Times times;
  for (unsigned round = 0; round <= kOwnRounds; ++round) {
    if (round == 1) times = Times();  // what was before was the warm-up
    if (auto done = measure_round(mount, steps, times); !done) return failure(done.error());
    context.report({round + 1, kOwnRounds + 1, "rounds", kId});
  }
  return times;
}

}  // namespace

Status bench_begin_step(Context& context) {
  if (!context.wants(kId)) return {};
  if (const std::string why = emufs::why_no_mounts(); !why.empty()) {
    context.leave_out(kId, why);
    return {};
  }
  if (everybody().size() < kRanks) {
    context.leave_out(kId, "there is one rank only");
    return {};
  }
  const auto machine = write_machine(context.folder());
  if (!machine) return failure(machine.error());
  const auto mounted = emufs::Mounted::make(context.folder(), {.machine = machine->string()});
  if (!mounted) return failure(mounted.error());
  const auto times = measure(context, (*mounted)->path());
  everybody().end_runtimes();  // which would keep files there open
  if (!times) return failure(times.error());
  context.add({.id = kId,
               .unit = "us",
               .measured = summarise(times->begin_us),
               .goal = Goal{200, Better::kLower},
               .peers = {{"begin_step right after opening", "us", summarise(times->at_once_us)},
                         {"begin_step, put and commit", "us", summarise(times->all_us)},
                         {"open(O_CREAT)", "us", summarise(times->create_us)}}});
  return {};
}

}  // namespace forebay::bench::checkpoint
