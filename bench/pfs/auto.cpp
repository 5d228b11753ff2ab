// SPDX-License-Identifier: Apache-2.0
// Sweeps plans over emulated machines. Each plan is tried once; those that came out best, and the
// automatic one, are then measured against each other in paired rounds, so that what the sweep's
// single runs got wrong costs nothing but a place among the best.
#include "bench/pfs/auto.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "bench/emufs/mounted.hpp"
#include "bench/pfs/auto_plans.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::pfs {

namespace {

using read::GivenPlan;
using read::Job;
using read::Reach;
using read::the_crew;

constexpr const char* kId = "pfs.auto.over_best";
constexpr std::array<const char*, 3> kMachines{"nfs", "lustre-small", "gpfs-small"};
constexpr std::uint64_t kTaskCount = 512;
constexpr unsigned kAutoRounds = 5;
constexpr std::size_t kFinalists = 3;
constexpr double kGoal = 1.15;

/// What is read, and by whom.
struct Combination {
  std::string machine;
  Cut cut;
  Reach reach = Reach::kCrew;

  std::uint32_t ranks() const { return the_crew().ranks(reach).size(); }
  std::string name() const {
    return machine + ", " + text_of_bytes(cut.file_bytes) + ", " + std::to_string(ranks()) +
           (ranks() == 1 ? " rank" : " ranks");
  }
};

std::vector<std::uint64_t> file_sizes(const Context& context) {
  if (context.quick()) return {32_MiB};
  return {64_MiB, 256_MiB};
}

/// How far a row is that takes minutes: one bar over all of it.
class Meter {
 public:
  Meter(Context& context, std::size_t total) : context_(context), total_(total) {}
  void tick() { context_.report({++done_, total_, "runs", kId}); }

 private:
  Context& context_;
  std::size_t total_;
  std::size_t done_ = 0;
};

std::size_t runs_of(std::uint32_t ranks) {
  return plans_to_sweep(ranks).size() + kAutoRounds * (kFinalists + 1);
}

/// What a combination gave.
struct Outcome {
  std::string name;
  Summary over_best;
  nlohmann::json details;
};

nlohmann::json to_json(const ReadPlan& plan, const Summary& seconds) {
  return {{"agents", name_of(plan.agents.value_or(Agents::kPerRank))},
          {"splinter_bytes", plan.splinter_bytes},
          {"request_bytes", plan.request_bytes},
          {"queue_depth", plan.queue_depth},
          {"window_bytes", plan.window_bytes},
          {"reason", plan.reason},
          {"seconds", seconds.median}};
}

/// Ends the Runtimes of earlier runs, with the files they have open and the memory they keep: no
/// plan inherits from another. On all ranks.
Status forget_runtimes() {
  for (const Reach reach : {Reach::kCrew, Reach::kEverybody}) {
    const Job job{.work = read::Work::kForget, .reach = reach, .task_count = 1, .path = {}};
    if (const auto done = the_crew().measure(job); !done) return failure(done.error());
  }
  return {};
}

class Sweep {
 public:
  Sweep(Combination combination, Meter& meter)
      : combination_(std::move(combination)),
        plans_(plans_to_sweep(combination_.ranks())),
        meter_(meter) {}

  Result<Outcome> run() {
    std::vector<double> screened;
    for (const GivenPlan& plan : plans_) {
      auto seconds = read(plan, nullptr);
      if (!seconds) return failure(seconds.error());
      screened.push_back(*seconds);
    }
    return compare(fastest(screened, kFinalists)).map([&](Outcome outcome) {
      outcome.details["slowest_over_best"] = *std::max_element(screened.begin(), screened.end()) /
                                             *std::min_element(screened.begin(), screened.end());
      return outcome;
    });
  }

 private:
  /// From storage: nothing of the file is cached.
  Result<double> read(const GivenPlan& given, ReadPlan* told) {
    if (auto done = forget_runtimes(); !done) return failure(done.error());
    if (auto cold = probe::drop_cached(combination_.cut.path); !cold) return failure(cold.error());
    Job job = Job::of(read::Work::kSession, combination_.cut);
    job.reach = combination_.reach;
    job.given = given;
    const auto measured = the_crew().measure(job);
    if (!measured) return failure(measured.error());
    if (told != nullptr) *told = measured->plan;
    meter_.tick();
    return measured->seconds;
  }

  /// The automatic plan is the first variant.
  Result<Outcome> compare(const std::vector<std::size_t>& finalists) {
    std::vector<GivenPlan> given = {GivenPlan{}};
    for (const std::size_t index : finalists)
      given.push_back(plans_[index]);
    std::vector<ReadPlan> told(given.size());
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < given.size(); ++i) {
      variants.push_back({i == 0 ? "automatic" : text_of(given[i]), {}, [this, &given, &told, i] {
                            return read(given[i], &told[i]);
                          }});
    }
    const auto rounds =
        run_rounds(variants, {.rounds = kAutoRounds, .warm_ups = 0, .on_progress = {}});
    if (!rounds) return failure(rounds.error());
    return judge(variants, *rounds, told);
  }

  Outcome judge(const std::vector<Variant>& variants,
                const Rounds& rounds,
                const std::vector<ReadPlan>& told) const {
    std::vector<std::vector<double>> others;
    std::vector<double> medians;
    for (std::size_t i = 1; i < variants.size(); ++i) {
      others.push_back(rounds.values(variants[i].name));
      medians.push_back(rounds.summary(variants[i].name).median);
    }
    const std::size_t best = 1 + fastest(medians, 1).front();
    Outcome outcome{.name = combination_.name(),
                    .over_best = over_fastest(rounds.values("automatic"), others),
                    .details = {}};
    outcome.details = {{"combination", outcome.name},
                       {"over_best", outcome.over_best.median},
                       {"over_winner", rounds.ratio("automatic", variants[best].name).median},
                       {"plans", plans_.size()},
                       {"automatic", to_json(told.front(), rounds.summary("automatic"))},
                       {"best", to_json(told[best], rounds.summary(variants[best].name))}};
    return outcome;
  }

  Combination combination_;
  std::vector<GivenPlan> plans_;
  Meter& meter_;
};

/// Made by way of the mount, so that it has a layout; its bytes past it, which takes no time.
Result<std::filesystem::path> place_file(const emufs::Mounted& mounted,
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
  return failure(system_error({.operation = "make", .path = path.string()}, failed.value()));
}

/// All combinations on one machine.
Status sweep_machine(Context& context,
                     const std::string& machine,
                     Meter& meter,
                     std::vector<Outcome>& outcomes) {
  // In a folder of its own: other rows have mounts of the same machines.
  auto mounted = emufs::Mounted::make(context.folder() / "auto", {.machine = machine, .words = {}});
  if (!mounted) return failure(mounted.error());
  for (const std::uint64_t bytes : file_sizes(context)) {
    const auto words = context.word_file(bytes);
    if (!words) return failure(words.error());
    const auto path = place_file(**mounted, *words);
    if (!path) return failure(path.error());
    const Cut cut{.path = *path, .file_bytes = bytes, .task_count = kTaskCount};
    for (const Reach reach : {Reach::kCrew, Reach::kEverybody}) {
      auto outcome = Sweep({.machine = machine, .cut = cut, .reach = reach}, meter).run();
      if (!outcome) return failure(outcome.error());
      outcomes.push_back(std::move(*outcome));
    }
  }
  return forget_runtimes();
}

void add_row(Context& context, const std::vector<Outcome>& outcomes) {
  const auto worst = std::max_element(outcomes.begin(), outcomes.end(),
                                      [](const Outcome& one, const Outcome& other) {
                                        return one.over_best.median < other.over_best.median;
                                      });
  std::vector<Peer> peers;
  auto details = nlohmann::json::array();
  for (const Outcome& outcome : outcomes) {
    peers.push_back({outcome.name, "1", outcome.over_best});
    details.push_back(outcome.details);
  }
  context.set_parameter(kId, std::move(details));
  context.add({kId, "1", worst->over_best, Goal{kGoal}, std::move(peers)});
}

}  // namespace

Status bench_auto(Context& context) {
  if (!context.wants(kId)) return {};
  const std::uint32_t few = the_crew().ranks().size();
  const std::uint32_t many = the_crew().ranks(Reach::kEverybody).size();
  if (many == few) {
    context.leave_out(kId, "it takes one rank, and two; forebay bench starts them where MPI is");
    return {};
  }
  Meter meter(context,
              kMachines.size() * file_sizes(context).size() * (runs_of(few) + runs_of(many)));
  std::vector<Outcome> outcomes;
  for (const char* machine : kMachines) {
    if (auto done = sweep_machine(context, machine, meter, outcomes); !done) return done;
  }
  add_row(context, outcomes);
  return {};
}

}  // namespace forebay::bench::pfs
