// SPDX-License-Identifier: Apache-2.0
// run.*: programs that are not changed, with and without `forebay run`, on emulated storage. Each
// runs on its own and under an agent in turn; its output must be the same.
#include <forebay/range.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/frame/benchmark.hpp"
#include "bench/run/place.hpp"
#include "bench/run/programs.hpp"
#include "bench/run/run_agent.hpp"

namespace forebay::bench::run {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kRounds = 5;
constexpr const char* kIdentical = "run.identical";

enum class Profiles : std::uint8_t { kNone, kOfFirstRun };
enum class Caches : std::uint8_t { kCold, kWarm };

struct Row {
  std::string id;
  std::string machine;
  std::optional<Group> group;  ///< absent: all programs
  Profiles profiles;
  Goal goal;
};

constexpr Goal at_least(double value) { return {value, Better::kHigher}; }

/// Rows of programs that do not gain have the ratio to today's time instead of its inverse.
bool is_harm(const Row& row) { return row.goal.better == Better::kLower; }

std::vector<Row> rows() {
  return {{"run.first", "nfs", Group::kWide, Profiles::kNone, at_least(8)},
          {"run.second", "nfs", Group::kWide, Profiles::kOfFirstRun, at_least(12)},
          {"run.random", "nfs", Group::kRandom, Profiles::kOfFirstRun, at_least(10)},
          {"run.series", "nfs", Group::kSeries, Profiles::kNone, at_least(1.8)},
          {"run.import", "nfs", Group::kImport, Profiles::kOfFirstRun, at_least(3)},
          {"run.harm", "nfs", {}, Profiles::kOfFirstRun, {1.05}},
          {"run.sequential", "lustre-small", Group::kLong, Profiles::kNone, at_least(2.5)},
          {"run.harm.lustre", "lustre-small", {}, Profiles::kNone, {1.05}}};
}

/// Whether the row measures the program in this state. A row of harm leaves out what another row of
/// the same storage has.
bool is_measured(const Row& row, const Program& program, Caches caches) {
  if (!is_harm(row)) return caches == Caches::kCold;
  const auto is_other = [&](const Row& other) {
    return other.group == program.group && other.machine == row.machine;
  };
  return caches == Caches::kWarm || std::ranges::none_of(rows(), is_other);
}

/// Times of a program on its own ("today") and under an agent ("forebay").
Result<Rounds> compare(
    Context& context, Place& place, const Row& row, const Program& program, Caches caches) {
  const auto prepare = [&place, caches] {
    return caches == Caches::kCold ? place.drop_caches() : Status();
  };
  const fs::path learned = place.new_profiles();
  const bool is_second = row.profiles == Profiles::kOfFirstRun;
  if (is_second) {
    if (auto cold = place.drop_caches(); !cold) return failure(cold.error());
    if (auto first = place.time_with_agent(program, learned); !first) return failure(first.error());
  }
  return context.run(row.id, context.choose(kRounds, 1U),
                     {{"today", prepare, [&place, &program] { return place.time(program, {}); }},
                      {"forebay", prepare, [&place, &program, is_second, &learned] {
                         return place.time_with_agent(program,
                                                      is_second ? learned : place.new_profiles());
                       }}});
}

/// The programs of a row. Those that cannot run are left out with the reason.
std::vector<Program> programs_of(Context& context, const Place& place, const Row& row) {
  std::vector<Program> found;
  for (const Program& program : programs()) {
    const bool is_of_row = row.group ? *row.group == program.group
                                     : program.group != Group::kFailing || row.id == kIdentical;
    if (!is_of_row) continue;
    const std::string why = place.unavailable_reason(program);
    if (why.empty())
      found.push_back(program);
    else
      context.skip(row.id + ": " + program.name, why);
  }
  return found;
}

/// The worst program decides.
Status bench_row(Context& context, Place& place, const Row& row) {
  ResultRow result{row.id, "1", {}, row.goal, {}};
  for (const Program& program : programs_of(context, place, row)) {
    for (const Caches caches : {Caches::kCold, Caches::kWarm}) {
      if (!is_measured(row, program, caches)) continue;
      const auto rounds = compare(context, place, row, program, caches);
      if (!rounds) return failure(rounds.error());
      const std::string name = program.name + (caches == Caches::kWarm ? ", warm" : "");
      for (const char* const way : {"today", "forebay"})
        result.peers.push_back({name + ", " + way, "s", rounds->summary(way)});
      const Summary ratio =
          is_harm(row) ? rounds->ratio("forebay", "today") : rounds->ratio("today", "forebay");
      const bool is_worse = (ratio.median > result.measured.median) == is_harm(row);
      if (result.measured.runs == 0 || is_worse) result.measured = ratio;
    }
  }
  if (result.measured.runs > 0)
    context.add(std::move(result));
  else
    context.skip(row.id, "none of its programs can run");
  return {};
}

/// Runs each program on its own, and in a first and a second run under an agent. Place fails at the
/// first difference. A quick run has warm caches and no second run.
Status bench_identical(Context& context, Place& place, const Row& row) {
  const auto all = programs_of(context, place, row);
  std::uint64_t done = 0;
  for (const Program& program : all) {
    const fs::path learned = place.new_profiles();
    for (const unsigned run : {0U, 1U, 2U}) {
      if (context.quick() && run == 2) continue;
      if (auto cold = context.quick() ? Status() : place.drop_caches(); !cold) return cold;
      const auto ran = run > 0 ? place.time_with_agent(program, learned) : place.time(program, {});
      if (!ran) return failure(ran.error());
    }
    context.report({++done, all.size(), "programs", row.id});
  }
  context.add({row.id,
               "programs",
               summarize({static_cast<double>(all.size())}),
               at_least(static_cast<double>(all.size())),
               {}});
  return {};
}

/// Microseconds of a cached pread() of 1 KiB, as the reader measures them.
Result<double> time_call(const fs::path& file,
                         unsigned reads,
                         const EnvironmentVariables& settings) {
  const fs::path output = file.parent_path() / "output";
  const std::string reader =
      fs::read_symlink("/proc/self/exe").parent_path() / "forebay-bench-reader";
  const std::string command = reader + " " + file.string() + " --pread " + std::to_string(reads);
  if (auto done = run_child({"sh", "-c", command + " > " + output.string()}, settings); !done)
    return failure(done.error());
  double ns = 0;
  std::ifstream(output) >> ns;
  return ns / 1000;
}

Status bench_call(Context& context, const char* id) {
  const auto file = context.word_file(1_MiB);
  if (!file) return failure(file.error());
  const unsigned reads = context.choose(1'000'000U, 10'000U);
  const auto rounds = context.run(id, context.choose(9U, 1U),
                                  {{"today", {}, [&] { return time_call(*file, reads, {}); }},
                                   {"forebay", {}, [&]() -> Result<double> {
                                      auto agent =
                                          RunAgent::start(context.directory() / "profiles-call");
                                      if (!agent) return failure(agent.error());
                                      return time_call(*file, reads, (*agent)->environment());
                                    }}});
  if (!rounds) return failure(rounds.error());
  context.add(
      {id,
       "us",
       rounds->difference("forebay", "today"),
       Goal{0.3},
       {{"today", "us", rounds->summary("today")}, {"forebay", "us", rounds->summary("forebay")}}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(run, "unchanged programs with and without `forebay run`") {
  if (context.is_selected("run.call_us")) {
    if (auto done = bench_call(context, "run.call_us"); !done) return done;
  }
  const std::string why = emufs::mount_unavailable_reason();
  std::unique_ptr<Place> place;
  std::string machine;
  const auto measure = [&](const Row& row, auto bench) -> Status {
    if (!context.is_selected(row.id)) return {};
    if (!why.empty()) {
      context.skip(row.id, why);
      return {};
    }
    if (machine != row.machine) {
      place.reset();
      auto made = Place::make(context, machine = row.machine);
      if (!made) return failure(made.error());
      place = std::move(*made);
    }
    return bench(context, *place, row);
  };
  const char* const storage = context.quick() ? "local" : "nfs";
  const Row identical{kIdentical, storage, {}, Profiles::kOfFirstRun, {}};
  if (auto done = measure(identical, bench_identical); !done) return done;
  for (const Row& row : rows()) {
    if (auto done = measure(row, bench_row); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::run
