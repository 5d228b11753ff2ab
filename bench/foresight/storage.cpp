// SPDX-License-Identifier: Apache-2.0
// Rows with real reads from emulated storage: `nfs`, a file server with 5 ms a request and 16 at a
// time, and `lustre-small`, four servers with 1 ms a request and 4 at a time.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include "bench/foresight/comparison.hpp"

namespace forebay::bench::foresight {

namespace {

namespace fs = std::filesystem;
using Cases = Result<std::vector<Case>>;

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
  std::vector<Case> cases;
  for (const auto& [name, pattern] : patterns) {
    auto reads = stream_of(pattern);
    if (!reads) return failure(reads.error());
    cases.push_back({name, {{.path = path, .reads = std::move(*reads)}}});
  }
  return cases;
}

/// Patterns of which the kernel reads nothing ahead.
Cases wide_cases(const fs::path& path, const Patterns& patterns, std::size_t cells) {
  auto cases = cases_of(path, patterns);
  if (cases) cases->push_back(second_epoch(path, cells));
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
  auto cases = wide(storage);
  for (std::size_t i = 0; cases && i < cases->size(); ++i) {
    (*cases)[i].name += " with think time";
    (*cases)[i].replays[0].think = kThink;
  }
  return cases;
}

/// Patterns of which the kernel reads most ahead. Opening counts: it must do no harm either.
Cases dense(const Storage& storage) {
  auto cases =
      cases_of(storage.words, {{"sequential", "sequential"},
                               {"stride 4k", "stride.4k.1024"},
                               {"nested 4k/12k", "read {512 x {2 x (16384 i + 4096 j, 1024)}}"},
                               {"nested 2k/6k", "read {512 x {2 x (8192 i + 2048 j, 1024)}}"}});
  for (std::size_t i = 0; cases && i < cases->size(); ++i)
    (*cases)[i].replays[0].is_open_timed = true;
  return cases;
}

/// Numbered files, each opened when it is needed.
Cases series(const Storage& storage) {
  constexpr std::uint64_t kBytes = 4_MiB;
  const auto source = storage.context.word_file(kBytes);
  if (!source) return failure(source.error());
  auto reads = stream_of("read {64 x (65536 i, 65536)}");
  if (!reads) return failure(reads.error());
  Case one{"series of files", {}};
  for (int number = 10; number < 26; ++number) {
    auto path = storage.replayer.mounted().create_file("step-" + std::to_string(number) + ".bin",
                                                       kBytes, *source);
    if (!path) return failure(path.error());
    one.replays.push_back({.path = *path, .reads = *reads, .is_open_timed = true});
  }
  return std::vector{std::move(one)};
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
  std::vector<Case> cases = {{"pre-execution in a thread", {replay}}};
  replay.plan.pre_execution_mode = PreExecutionMode::kIdle;
  cases.push_back({"pre-execution while idle", {replay}});
  return cases;
}

Cases logs(const Storage& storage) { return cases_of_logs(storage.context, storage.replayer); }

constexpr const char* kWasteId = "foresight.real_logs.waste";

struct Row {
  Comparison comparison;
  Cases (*cases)(const Storage&);
  const char* machine = "nfs";
};

constexpr Goal at_least(double value) { return {value, Better::kHigher}; }

constexpr std::array kRows = {
    Row{{"foresight.ideal_fraction", "ideal", "forebay", at_least(0.75), Peers::kAll}, wide},
    Row{{"foresight.ideal_fraction.long", "ideal", "forebay", at_least(0.92)}, wide_long},
    Row{{"foresight.no_harm", "forebay", "today", {1.05}, Peers::kAll}, dense},
    Row{{"foresight.stall", "forebay", "today", {0.05}}, wide_with_think_time},
    Row{{"foresight.preexec", "forebay", "today", {0.05}}, chains},
    Row{{"foresight.series", "today", "forebay", at_least(1.8)}, series},
    Row{{"foresight.real_logs.time", "forebay", "today", {1.05}}, logs},
    Row{{"foresight.lustre.ideal_fraction", "ideal", "forebay", at_least(0.7)},
        wide,
        "lustre-small"},
    Row{{"foresight.lustre.ideal_fraction.long", "ideal", "forebay", at_least(0.75)},
        wide_long,
        "lustre-small"},
    Row{{"foresight.lustre.no_harm", "forebay", "today", {1.05}}, dense, "lustre-small"},
    Row{{"foresight.lustre.real_logs.time", "forebay", "today", {1.05}}, logs, "lustre-small"},
};

/// A quarter of the timed reads.
void shorten(std::vector<Case>& cases) {
  for (Case& one : cases) {
    for (Replay& replay : one.replays)
      replay.reads.resize(replay.before + (replay.reads.size() - replay.before + 3) / 4);
  }
}

Status bench_row(const Storage& storage, const Row& row) {
  auto cases = row.cases(storage);
  if (!cases) return failure(cases.error());
  if (storage.context.quick()) shorten(*cases);
  auto result = storage.replayer.compare(row.comparison, *cases);
  if (!result) return failure(result.error());
  storage.context.add(std::move(*result));
  return {};
}

Result<std::unique_ptr<Replayer>> mount(Context& context,
                                        const std::string& machine,
                                        fs::path& words) {
  const auto source = context.word_file(kFileBytes);
  if (!source) return failure(source.error());
  auto replayer = Replayer::make(context, machine);
  if (!replayer) return replayer;
  const auto created = (*replayer)->mounted().create_file("words", kFileBytes, *source);
  if (!created) return failure(created.error());
  words = *created;
  return replayer;
}

std::string unavailable_reason(const Row& row) {
  const std::string unmounted = emufs::mount_unavailable_reason();
  return unmounted.empty() && row.cases == logs ? logs_unavailable_reason() : unmounted;
}

}  // namespace

Status bench_storage(Context& context) {
  for (const std::string id :
       {"foresight.server_push", "foresight.server_push.ended", "foresight.preexec.agent"}) {
    if (context.is_selected(id)) context.skip(id, "ranks on two hosts are required");
  }
  std::unique_ptr<Replayer> replayer;
  std::string mounted_machine;
  fs::path words;
  const bool is_waste_selected = context.is_selected(kWasteId);
  for (const Row& row : kRows) {
    const bool is_nfs = std::string_view(row.machine) == "nfs";
    const bool has_waste = row.cases == logs && is_nfs && is_waste_selected;
    if (!context.is_selected(row.comparison.id) && !has_waste) continue;
    if (const std::string why = unavailable_reason(row); !why.empty()) {
      context.skip(row.comparison.id, why);
      if (has_waste) context.skip(kWasteId, why);
      continue;
    }
    if (std::exchange(mounted_machine, row.machine) != row.machine) {
      replayer.reset();
      auto mounted = mount(context, row.machine, words);
      if (!mounted) return failure(mounted.error());
      replayer = std::move(*mounted);
    }
    if (auto done = bench_row({context, *replayer, words}, row); !done) return done;
    if (has_waste)
      context.add({kWasteId, "1", summarize(replayer->wasted().begin()->second), Goal{0.25}, {}});
  }
  return {};
}

}  // namespace forebay::bench::foresight
