// SPDX-License-Identifier: Apache-2.0
// What a benchmark is written against: a name to register, a Context to measure with. A body says
// what is compared and what the goal is; order of runs, statistics, files, machine facts and JSON
// are the frame's.
//
//   FOREBAY_BENCHMARK(solo, "many tasks of one process read one file") {
//     if (context.wants("solo.warm.over_pread")) {
//       const auto file = context.word_file(1_GiB);
//       if (!file) return tl::unexpected(file.error());
//       const auto rounds = context.run("solo.warm.over_pread", 5, {ours(*file), pread(*file)});
//       if (!rounds) return tl::unexpected(rounds.error());
//       context.add({.id = "solo.warm.over_pread", .unit = "1", .measured =
//       rounds->ratio("forebay", "pread"),
//                    .goal = Goal{0.75}, .peers = {{"pread", "s", rounds->summary("pread")}}});
//     }
//     return {};
//   }
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frame/results.hpp"
#include "bench/frame/rounds.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::bench {

using probe::Progress;
using probe::Step;
using probe::Telling;

/// How large files are; the ids and the numbers of rounds are always the same.
enum class Effort : std::uint8_t {
  kUsual,
  kQuick,  ///< small ones: does it work?
  kFull,   ///< larger than caches and budgets by far
};

/// A value for each Effort.
template <class T>
struct ByEffort {
  T quick;
  T usual;
  T full;
};

/// How one benchmark is run.
struct RunOptions {
  Effort effort = Effort::kUsual;
  std::filesystem::path folder;  ///< for files; removed by the caller afterwards
  std::set<std::string> only;    ///< ids to measure; empty: all
  Telling telling = Telling::kSilent;
};

/// One run of one benchmark, as its body sees it. Used from the body's thread.
class Context {
 public:
  explicit Context(RunOptions options)
      : options_(std::move(options)), progress_(options_.telling) {}

  bool quick() const noexcept { return options_.effort == Effort::kQuick; }
  bool full() const noexcept { return options_.effort == Effort::kFull; }
  /// The value for this run's effort.
  template <class T>
  T choose(const ByEffort<T>& values) const {
    return quick() ? values.quick : full() ? values.full : values.usual;
  }
  /// `usual`, or `quick` in a quick run; a full one makes no difference.
  template <class T>
  T choose(T usual, T quick_one) const {
    return choose(ByEffort<T>{.quick = quick_one, .usual = usual, .full = usual});
  }

  /// True if `id` is to be measured. Every id of a body is asked about, or --only cannot know it.
  bool wants(std::string_view id);

  /// For files of the body's own; everything in it is removed at the end.
  const std::filesystem::path& folder() const noexcept { return options_.folder; }

  /// A file of `size_bytes` (a multiple of 8) whose 64-bit words are their offsets (word_file.hpp).
  /// Made once for each size and shared by all ids of a run: open it for reading only.
  Result<std::filesystem::path> word_file(std::uint64_t size_bytes);

  /// Fails with kNoSpace if the folder cannot take `size_bytes`.
  Status require_space(std::uint64_t size_bytes) const;

  /// Runs variants in paired rounds after one warm-up round, and tells progress under the name of
  /// `id`.
  Result<Rounds> run(std::string_view id, unsigned rounds, const std::vector<Variant>& variants);

  /// Tells progress of work that is not in rounds.
  void report(const Step& step) { progress_.report(step); }

  /// Something that a reader must know to compare numbers: sizes, counts, plans.
  void set_parameter(const std::string& name, nlohmann::json value);

  /// Adds a result; ids are unique. Parameters that belong to it are set before: whoever wants to
  /// know of results is called now.
  void add(ResultRow row);
  /// Calls `heard` after each result.
  void on_result(std::function<void()> heard) { on_result_ = std::move(heard); }

  /// Says why there is no result of this id here.
  void leave_out(const std::string& id, std::string why) { left_out_[id] = std::move(why); }

  const nlohmann::json& parameters() const noexcept { return parameters_; }
  const std::vector<ResultRow>& rows() const noexcept { return rows_; }
  const std::map<std::string, std::string>& left_out() const noexcept { return left_out_; }
  /// Ids of `only` that no call of wants() asked about.
  std::vector<std::string> unknown_ids() const;
  const std::set<std::string>& known_ids() const noexcept { return asked_; }

 private:
  RunOptions options_;
  Progress progress_;
  std::set<std::string> asked_;
  std::map<std::uint64_t, std::filesystem::path> word_files_;  // by size in bytes
  nlohmann::json parameters_ = nlohmann::json::object();
  std::vector<ResultRow> rows_;
  std::map<std::string, std::string> left_out_;  // by id: why
  std::function<void()> on_result_;
};

/// A body returns an Error when the world failed; what it had added before is still reported.
using BenchmarkBody = Status (*)(Context&);

struct Benchmark {
  std::string name;
  std::string description;
  BenchmarkBody body = nullptr;
};

/// All benchmarks of this program, by name.
const std::map<std::string, Benchmark>& all_benchmarks();

/// Used by FOREBAY_BENCHMARK; the value means nothing.
bool register_benchmark(Benchmark benchmark);

}  // namespace forebay::bench

/// Registers a benchmark and begins its body, a function `Status(Context& context)`.
#define FOREBAY_BENCHMARK(name, description)                                                \
  static ::forebay::Status benchmark_body_##name(::forebay::bench::Context& context);       \
  [[maybe_unused]] static const bool kBenchmarkRegistered_##name =                          \
      ::forebay::bench::register_benchmark({#name, (description), &benchmark_body_##name}); \
  static ::forebay::Status benchmark_body_##name(                                           \
      [[maybe_unused]] ::forebay::bench::Context& context)
