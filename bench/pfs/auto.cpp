// SPDX-License-Identifier: Apache-2.0
// Sweeps plans over emulated machines. Each plan runs once. The fastest ones and the automatic plan
// are then compared in paired rounds. So an error of a single run can only cost a plan its place
// among the fastest.
#include "bench/pfs/auto.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/pfs/auto_plans.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::pfs {

namespace {

using read::Job;
using read::PlanOverrides;
using read::rank_harness;
using read::RankSet;

constexpr const char* kId = "pfs.auto.over_best";
constexpr std::array<const char*, 3> kMachines{"nfs", "lustre-small", "gpfs-small"};
constexpr std::uint64_t kTaskCount = 512;
constexpr unsigned kAutoRounds = 5;
constexpr std::size_t kFinalists = 3;
constexpr double kGoal = 1.15;

/// The file to read, and the ranks that read it.
struct Combination {
  std::string machine;
  FilePartition partition;
  RankSet rank_set = RankSet::kActive;

  std::uint32_t ranks() const { return rank_harness().ranks(rank_set).size(); }
  std::string name() const {
    return machine + ", " + text_of_bytes(partition.file_bytes) + ", " + std::to_string(ranks()) +
           (ranks() == 1 ? " rank" : " ranks");
  }
};

std::vector<std::uint64_t> file_sizes(const Context& context) {
  if (context.quick()) return {32_MiB};
  return {64_MiB, 256_MiB};
}

/// Progress of a row that takes minutes: one bar for all of it.
class Meter {
 public:
  Meter(Context& context, std::size_t total) : context_(context), total_(total) {}
  void advance() { context_.report({++done_, total_, "runs", kId}); }

 private:
  Context& context_;
  std::size_t total_;
  std::size_t done_ = 0;
};

std::size_t runs_of(std::uint32_t ranks) {
  return plans_to_sweep(ranks).size() + kAutoRounds * (kFinalists + 1);
}

/// Result of a combination.
struct SweepResult {
  std::string name;
  Summary over_best;
  nlohmann::json details;
};

nlohmann::json to_json(const ReadPlan& plan, const Summary& seconds) {
  return {{"agents", name_of(plan.tuning.agent_scope.value_or(AgentScope::kPerRank))},
          {"splinter_bytes", plan.tuning.splinter_bytes},
          {"request_bytes", plan.tuning.request_bytes},
          {"queue_depth", plan.tuning.queue_depth},
          {"window_bytes", plan.tuning.window_bytes},
          {"reason", plan.reason},
          {"seconds", seconds.median}};
}

/// Ends the Runtimes of earlier runs, with their open files and memory, on all ranks: no plan
/// inherits from another.
Status release_runtimes() {
  for (const RankSet rank_set : {RankSet::kActive, RankSet::kAll}) {
    const Job job{
        .kernel = read::Kernel::kRelease, .rank_set = rank_set, .task_count = 1, .path = {}};
    if (const auto done = rank_harness().measure(job); !done) return failure(done.error());
  }
  return {};
}

class Sweep {
 public:
  Sweep(Combination combination, Meter& meter)
      : combination_(std::move(combination)),
        plans_(plans_to_sweep(combination_.ranks())),
        meter_(meter) {}

  Result<SweepResult> run() {
    std::vector<double> screened;
    for (const PlanOverrides& plan : plans_) {
      auto seconds = read(plan, nullptr);
      if (!seconds) return failure(seconds.error());
      screened.push_back(*seconds);
    }
    return compare(fastest(screened, kFinalists)).map([&](SweepResult result) {
      result.details["slowest_over_best"] = *std::max_element(screened.begin(), screened.end()) /
                                            *std::min_element(screened.begin(), screened.end());
      return result;
    });
  }

 private:
  /// Reads from storage: no part of the file is cached.
  Result<double> read(const PlanOverrides& given, ReadPlan* reported_plan) {
    if (auto done = release_runtimes(); !done) return failure(done.error());
    if (auto cold = probe::drop_cached(combination_.partition.path); !cold)
      return failure(cold.error());
    Job job = Job::make(read::Kernel::kSession, combination_.partition);
    job.rank_set = combination_.rank_set;
    job.plan_overrides = given;
    const auto measured = rank_harness().measure(job);
    if (!measured) return failure(measured.error());
    if (reported_plan != nullptr) *reported_plan = measured->plan;
    meter_.advance();
    return measured->seconds;
  }

  /// The automatic plan is the first variant.
  Result<SweepResult> compare(const std::vector<std::size_t>& finalists) {
    std::vector<PlanOverrides> given = {PlanOverrides{}};
    for (const std::size_t index : finalists)
      given.push_back(plans_[index]);
    std::vector<ReadPlan> reported_plan(given.size());
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < given.size(); ++i) {
      variants.push_back(
          {i == 0 ? "automatic" : text_of(given[i]), {}, [this, &given, &reported_plan, i] {
             return read(given[i], &reported_plan[i]);
           }});
    }
    const auto rounds =
        run_rounds(variants, {.rounds = kAutoRounds, .warm_ups = 0, .on_progress = {}});
    if (!rounds) return failure(rounds.error());
    return evaluate(variants, *rounds, reported_plan);
  }

  SweepResult evaluate(const std::vector<Variant>& variants,
                       const Rounds& rounds,
                       const std::vector<ReadPlan>& reported_plan) const {
    std::vector<std::vector<double>> others;
    std::vector<double> medians;
    for (std::size_t i = 1; i < variants.size(); ++i) {
      others.push_back(rounds.values(variants[i].name));
      medians.push_back(rounds.summary(variants[i].name).median);
    }
    const std::size_t best = 1 + fastest(medians, 1).front();
    SweepResult result{.name = combination_.name(),
                       .over_best = over_fastest(rounds.values("automatic"), others),
                       .details = {}};
    result.details = {{"combination", result.name},
                      {"over_best", result.over_best.median},
                      {"over_winner", rounds.ratio("automatic", variants[best].name).median},
                      {"plans", plans_.size()},
                      {"automatic", to_json(reported_plan.front(), rounds.summary("automatic"))},
                      {"best", to_json(reported_plan[best], rounds.summary(variants[best].name))}};
    return result;
  }

  Combination combination_;
  std::vector<PlanOverrides> plans_;
  Meter& meter_;
};

/// Created through the mount, so that it has a layout. Its bytes are copied to the backing
/// directory, which takes no emulated time.
Result<std::filesystem::path> copy_to_mount(const emufs::EmufsMount& mounted,
                                            const std::filesystem::path& words) {
  const std::filesystem::path path = mounted.path() / words.filename();
  const std::filesystem::path kept = mounted.backing() / words.filename();
  std::error_code failed;
  if (std::ofstream(path)) {
    constexpr auto kOver = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(words, kept, kOver, failed);
  } else {
    failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) return path;
  return failure(system_error({.operation = "create", .path = path.string()}, failed.value()));
}

/// All combinations on one machine.
Status sweep_machine(Context& context,
                     const std::string& machine,
                     Meter& meter,
                     std::vector<SweepResult>& results) {
  // In a separate directory: other rows mount the same machines.
  auto mounted =
      emufs::EmufsMount::make(context.directory() / "auto", {.machine = machine, .arguments = {}});
  if (!mounted) return failure(mounted.error());
  for (const std::uint64_t bytes : file_sizes(context)) {
    const auto words = context.word_file(bytes);
    if (!words) return failure(words.error());
    const auto path = copy_to_mount(**mounted, *words);
    if (!path) return failure(path.error());
    const FilePartition partition{.path = *path, .file_bytes = bytes, .task_count = kTaskCount};
    for (const RankSet rank_set : {RankSet::kActive, RankSet::kAll}) {
      auto result =
          Sweep({.machine = machine, .partition = partition, .rank_set = rank_set}, meter).run();
      if (!result) return failure(result.error());
      results.push_back(std::move(*result));
    }
  }
  return release_runtimes();
}

void add_row(Context& context, const std::vector<SweepResult>& results) {
  const auto worst = std::max_element(results.begin(), results.end(),
                                      [](const SweepResult& one, const SweepResult& other) {
                                        return one.over_best.median < other.over_best.median;
                                      });
  std::vector<Peer> peers;
  auto details = nlohmann::json::array();
  for (const SweepResult& result : results) {
    peers.push_back({result.name, "1", result.over_best});
    details.push_back(result.details);
  }
  context.set_parameter(kId, std::move(details));
  context.add({kId, "1", worst->over_best, Goal{kGoal}, std::move(peers)});
}

}  // namespace

Status bench_auto(Context& context) {
  if (!context.is_selected(kId)) return {};
  const std::uint32_t few = rank_harness().ranks().size();
  const std::uint32_t many = rank_harness().ranks(RankSet::kAll).size();
  if (many == few) {
    context.skip(kId, "it requires two ranks; forebay bench starts them if MPI is installed");
    return {};
  }
  Meter meter(context,
              kMachines.size() * file_sizes(context).size() * (runs_of(few) + runs_of(many)));
  std::vector<SweepResult> results;
  for (const char* machine : kMachines) {
    if (auto done = sweep_machine(context, machine, meter, results); !done) return done;
  }
  add_row(context, results);
  return {};
}

}  // namespace forebay::bench::pfs
