// SPDX-License-Identifier: Apache-2.0
// Interface of a benchmark: a name to register, and a Context to measure with. A body defines what
// is compared and the goal. The frame provides the order of runs, statistics, files, machine facts
// and JSON.
//
//   Status bench_warm(Context& context) {
//     const auto file = context.word_file(1_GiB).value();
//     return context.compare({
//         .rows = {{"solo.warm.over_pread", ratio_of("forebay", "pread"), Goal{0.75}}},
//         .variants = {{"forebay", {}, [&] { return time_session(file); }},
//                      {"pread", {}, [&] { return time_pread(file); }}}});
//   }
//
//   FOREBAY_BENCHMARK(solo, "many tasks of one process read one file") {
//     return run_each(context, {{{"solo.warm.over_pread"}, bench_warm}});
//   }
//
// Bodies and what they call return an Error, or throw it by Result::value() and check(): the frame
// reports both alike. Other threads and child processes return it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frame/check.hpp"
#include "bench/frame/results.hpp"
#include "bench/frame/rounds.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::bench {

using probe::Progress;
using probe::ProgressMode;
using probe::ProgressStep;

/// Size of files. The ids and the numbers of rounds do not depend on it.
enum class Effort : std::uint8_t {
  kUsual,
  kQuick,  ///< small files, for a check that it works
  kFull,   ///< far larger than caches and budgets
};

/// A value for each Effort.
template <class T>
struct ByEffort {
  T quick;
  T usual;
  T full;
};

/// Options of one run of a benchmark.
struct RunOptions {
  Effort effort = Effort::kUsual;
  std::filesystem::path directory;  ///< for files; removed by the caller afterwards
  std::set<std::string> only;       ///< ids to measure; empty: all
  ProgressMode progress_mode = ProgressMode::kSilent;
};

/// A row with a value from paired rounds.
struct ComparedRow {
  std::string id;
  RoundValue value;
  std::optional<Goal> goal = std::nullopt;
  std::string unit = "1";
};

/// A value from paired rounds that is shown beside rows.
struct ComparedPeer {
  std::string name;
  std::string unit;
  RoundValue value;
};

/// Variants that run in paired rounds, and the rows from them.
struct Comparison {
  std::vector<ComparedRow> rows;
  unsigned rounds = 5;
  std::vector<Variant> variants;
  std::string unit = "s";  ///< of what variants measure
  /// Variants that are shown beside each row. Absent: all.
  std::optional<std::vector<std::string>> peers = std::nullopt;
  std::vector<ComparedPeer> more_peers = {};  ///< shown before these
};

/// One run of one benchmark. Used only from the body's thread.
class Context {
 public:
  explicit Context(RunOptions options)
      : options_(std::move(options)), progress_(options_.progress_mode) {}

  bool quick() const noexcept { return options_.effort == Effort::kQuick; }
  bool full() const noexcept { return options_.effort == Effort::kFull; }
  /// The value for this run's effort.
  template <class T>
  T choose(const ByEffort<T>& values) const {
    return quick() ? values.quick : full() ? values.full : values.usual;
  }
  /// `usual`, or `quick_one` in a quick run; a full run uses `usual`.
  template <class T>
  T choose(T usual, T quick_one) const {
    return choose(ByEffort<T>{.quick = quick_one, .usual = usual, .full = usual});
  }

  /// True if `id` is to be measured. A body must call it for each of its ids: others are unknown to
  /// --only.
  bool is_selected(std::string_view id);
  bool is_any_selected(const std::vector<std::string>& ids);

  /// For files of the body; its content is removed at the end.
  const std::filesystem::path& directory() const noexcept { return options_.directory; }

  /// A file of `size_bytes` (a multiple of 8) whose 64-bit words are their offsets (word_file.hpp).
  /// Created once for each size and shared by all ids of a run: open it for reading only.
  Result<std::filesystem::path> word_file(std::uint64_t size_bytes);

  /// Fails with kNoSpace if the directory has less than `size_bytes` free.
  Status require_space(std::uint64_t size_bytes) const;

  /// Runs variants in paired rounds after one warm-up round, and reports progress under the name of
  /// `id`.
  Result<Rounds> run(std::string_view id, unsigned rounds, const std::vector<Variant>& variants);

  /// Adds those of the rows that are selected. Runs nothing if none is.
  Status compare(const Comparison& comparison);

  /// Reports progress of work that is not in rounds.
  void report(const ProgressStep& step) { progress_.report(step); }

  /// Stores a fact that readers need to compare numbers: sizes, counts, plans.
  void set_parameter(const std::string& name, nlohmann::json value);

  /// Adds a result; ids are unique. Set its parameters before: this calls the callback of
  /// on_result().
  void add(ResultRow row);
  /// Calls `callback` after each result.
  void on_result(std::function<void()> callback) { on_result_ = std::move(callback); }

  /// Records why there is no result of this id.
  void skip(const std::string& id, std::string why) { skipped_[id] = std::move(why); }
  /// The same for each of the ids that is selected.
  void skip_selected(const std::vector<std::string>& ids, const std::string& why);

  const nlohmann::json& parameters() const noexcept { return parameters_; }
  const std::vector<ResultRow>& rows() const noexcept { return rows_; }
  const std::map<std::string, std::string>& skipped() const noexcept { return skipped_; }
  /// Ids of `only` for which is_selected() was not called.
  std::vector<std::string> unknown_ids() const;
  const std::set<std::string>& known_ids() const noexcept { return known_ids_; }

 private:
  RunOptions options_;
  Progress progress_;
  std::set<std::string> known_ids_;
  std::map<std::uint64_t, std::filesystem::path> word_files_;  // by size in bytes
  nlohmann::json parameters_ = nlohmann::json::object();
  std::vector<ResultRow> rows_;
  std::map<std::string, std::string> skipped_;  // by id: the reason
  std::function<void()> on_result_;
};

/// Some rows of a benchmark, with a common preparation.
struct RowGroup {
  std::vector<std::string> ids;
  std::function<Status(Context&)> measure;
  /// Why the rows cannot be measured here; empty if they can. May be absent.
  std::function<std::string()> unavailable_reason = {};
};

/// Runs the groups with a selected row, and stops at the first failure. Rows of a group that is not
/// available are skipped with the reason.
Status run_each(Context& context, const std::vector<RowGroup>& groups);

/// A body fails if the environment fails; results added before are still reported.
using BenchmarkBody = Status (*)(Context&);

struct Benchmark {
  std::string name;
  std::string description;
  BenchmarkBody body = nullptr;
};

/// All benchmarks of this program, by name.
const std::map<std::string, Benchmark>& all_benchmarks();

/// Used by FOREBAY_BENCHMARK; the value has no meaning.
bool register_benchmark(Benchmark benchmark);

}  // namespace forebay::bench

/// Registers a benchmark and begins its body, a function `Status(Context& context)`.
#define FOREBAY_BENCHMARK(name, description)                                                \
  static ::forebay::Status benchmark_body_##name(::forebay::bench::Context& context);       \
  [[maybe_unused]] static const bool kBenchmarkRegistered_##name =                          \
      ::forebay::bench::register_benchmark({#name, (description), &benchmark_body_##name}); \
  static ::forebay::Status benchmark_body_##name(                                           \
      [[maybe_unused]] ::forebay::bench::Context& context)
