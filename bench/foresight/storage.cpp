// SPDX-License-Identifier: Apache-2.0
// Rows with real reads from emulated storage: `nfs`, a file server with 5 ms a request and 16 at a
// time, and `lustre-small`, four servers with 1 ms a request and 4 at a time.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>

#include "bench/foresight/comparison.hpp"

namespace forebay::bench::foresight {

namespace {

namespace fs = std::filesystem;
using Cases = std::vector<Case>;

constexpr std::uint64_t kFileBytes = 256_MiB;
constexpr std::uint64_t kReadBytes = 1024;
constexpr std::chrono::microseconds kThink{5500};  ///< longer than a request takes

/// What rows read from.
struct Storage {
  Context& context;
  Replayer& replayer;
  fs::path words;  ///< a file of kFileBytes
};

/// Two epochs of a random permutation. Only the second one is timed.
Case second_epoch(const fs::path& path, std::size_t cells) {
  std::vector<std::uint64_t> order(cells);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937_64(7));
  Replay replay{.path = path, .before = cells};
  // The memory of the session is smaller than an epoch.
  replay.plan.budget_bytes = 4_MiB;
  replay.plan.readahead_bytes = 3_MiB;
  for (std::size_t i = 0; i < 2 * cells; ++i)
    replay.reads.push_back({order[i % cells] * 256_KiB, kReadBytes});
  return {"second epoch of " + std::to_string(cells), {std::move(replay)}};
}

using Patterns = std::vector<std::pair<std::string, std::string_view>>;

Cases cases_of(const fs::path& path, const Patterns& patterns) {
  Cases cases;
  for (const auto& [name, pattern] : patterns)
    cases.push_back({name, {{.path = path, .reads = stream_of(pattern)}}});
  return cases;
}

/// Patterns of which the kernel reads nothing ahead.
Cases wide_cases(const fs::path& path, const Patterns& patterns, std::size_t cells) {
  Cases cases = cases_of(path, patterns);
  cases.push_back(second_epoch(path, cells));
  return cases;
}

Cases wide(const Storage& storage) {
  return wide_cases(storage.words,
                    {{"stride 64k", "stride.64k"}, {"nested 64k/192k", "nested.64k"}}, 200);
}

Cases wide_long(const Storage& storage) {
  return wide_cases(storage.words,
                    {{"long stride 64k", "stride.64k.2000"},
                     {"long nested 64k/192k", "read {1000 x {2 x (262144 i + 65536 j, 1024)}}"}},
                    1000);
}

Cases wide_with_think_time(const Storage& storage) {
  Cases cases = wide(storage);
  for (Case& one : cases) {
    one.name += " with think time";
    one.replays[0].think = kThink;
  }
  return cases;
}

/// Patterns of which the kernel reads most ahead. Opening counts: it must do no harm either.
Cases dense(const Storage& storage) {
  Cases cases =
      cases_of(storage.words, {{"sequential", "sequential"},
                               {"stride 4k", "stride.4k.1024"},
                               {"nested 4k/12k", "read {512 x {2 x (16384 i + 4096 j, 1024)}}"},
                               {"nested 2k/6k", "read {512 x {2 x (8192 i + 2048 j, 1024)}}"}});
  for (Case& one : cases)
    one.replays[0].is_open_timed = true;
  return cases;
}

/// Numbered files, each opened when it is needed.
Cases series(const Storage& storage) {
  constexpr std::uint64_t kBytes = 4_MiB;
  const fs::path source = storage.context.word_file(kBytes).value();
  const Stream reads = stream_of("read {64 x (65536 i, 65536)}");
  Case one{"series of files", {}};
  for (int number = 10; number < 26; ++number) {
    const std::string name = "step-" + std::to_string(number) + ".bin";
    const auto path = storage.replayer.mounted().create_file(name, kBytes, source).value();
    one.replays.push_back({.path = path, .reads = reads, .is_open_timed = true});
  }
  return {std::move(one)};
}

/// Reads the words that the program will read, without its time to think.
Status preexecute_chain(const Session& session, const Replay& replay) {
  return session.preexecute(next_of_chain(session, replay.reads.size()));
}

/// Reads whose offsets depend on the content of those before.
Cases chains(const Storage& storage) {
  Replay replay{.path = storage.words,
                .reads = chain(kFileBytes, 120),
                .think = kThink,
                .prepare = preexecute_chain};
  Cases cases = {{"pre-execution in a thread", {replay}}};
  replay.plan.pre_execution_mode = PreExecutionMode::kIdle;
  cases.push_back({"pre-execution while idle", {replay}});
  return cases;
}

Cases logs(const Storage& storage) { return cases_of_logs(storage.context, storage.replayer); }

constexpr const char* kLogsId = "foresight.real_logs.time";
constexpr const char* kWasteId = "foresight.real_logs.waste";

struct StorageRow {
  ReplayRow row;
  Cases (*cases)(const Storage&);
  const char* machine = "nfs";
};

constexpr Goal at_least(double value) { return {value, Better::kHigher}; }

constexpr std::array kRows = {
    StorageRow{{"foresight.ideal_fraction", "ideal", "forebay", at_least(0.75), Peers::kAll}, wide},
    StorageRow{{"foresight.ideal_fraction.long", "ideal", "forebay", at_least(0.92)}, wide_long},
    StorageRow{{"foresight.no_harm", "forebay", "today", {1.05}, Peers::kAll}, dense},
    StorageRow{{"foresight.stall", "forebay", "today", {0.05}}, wide_with_think_time},
    StorageRow{{"foresight.preexec", "forebay", "today", {0.05}}, chains},
    StorageRow{{"foresight.series", "today", "forebay", at_least(1.8)}, series},
    StorageRow{{kLogsId, "forebay", "today", {1.05}}, logs},
    StorageRow{{"foresight.lustre.ideal_fraction", "ideal", "forebay", at_least(0.7)},
               wide,
               "lustre-small"},
    StorageRow{{"foresight.lustre.ideal_fraction.long", "ideal", "forebay", at_least(0.75)},
               wide_long,
               "lustre-small"},
    StorageRow{{"foresight.lustre.no_harm", "forebay", "today", {1.05}}, dense, "lustre-small"},
    StorageRow{
        {"foresight.lustre.real_logs.time", "forebay", "today", {1.05}}, logs, "lustre-small"},
};

/// A quarter of the timed reads.
void shorten(std::vector<Case>& cases) {
  for (Case& one : cases) {
    for (Replay& replay : one.replays)
      replay.reads.resize(replay.before + (replay.reads.size() - replay.before + 3) / 4);
  }
}

void bench_row(const Storage& storage, const StorageRow& one) {
  Cases cases = one.cases(storage);
  if (storage.context.quick()) shorten(cases);
  storage.context.add(storage.replayer.compare(one.row, cases));
}

std::string unavailable_reason(const StorageRow& one) {
  const std::string unmounted = emufs::mount_unavailable_reason();
  return unmounted.empty() && one.cases == logs ? logs_unavailable_reason() : unmounted;
}

}  // namespace

Status bench_storage(Context& context) {
  context.skip_selected(
      {"foresight.server_push", "foresight.server_push.ended", "foresight.preexec.agent"},
      "ranks on two hosts are required");
  std::optional<Replayer> replayer;
  std::string mounted_machine;
  fs::path words;
  for (const StorageRow& one : kRows) {
    std::vector<std::string> ids = {one.row.id};
    if (ids.front() == kLogsId) ids.emplace_back(kWasteId);
    const auto measure = [&](Context& /*context*/) -> Status {
      if (std::exchange(mounted_machine, one.machine) != one.machine) {
        const fs::path source = context.word_file(kFileBytes).value();
        replayer.emplace(context, one.machine);
        words = replayer->mounted().create_file("words", kFileBytes, source).value();
      }
      bench_row({context, *replayer, words}, one);
      if (ids.size() > 1 && context.is_selected(kWasteId))
        context.add({kWasteId, "1", summarize(replayer->wasted().begin()->second), Goal{0.25}, {}});
      return {};
    };
    check(run_each(context, {{ids, measure, [&] { return unavailable_reason(one); }}}));
  }
  return {};
}

}  // namespace forebay::bench::foresight
