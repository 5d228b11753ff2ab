// SPDX-License-Identifier: Apache-2.0
#include "flow/commands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "command/arguments.hpp"
#include "flow/generate.hpp"
#include "flow/solver_run.hpp"

namespace forebay::flow {

using command::Arguments;
using command::ArgumentSpec;
using command::Json;
using command::usage_error;

namespace {

/// Limits of option values, so that a typing error is reported and does not exhaust memory.
constexpr Arguments::Bounds kCells{1, 4096};
constexpr Arguments::Bounds kParts{1, 1U << 20U};
constexpr Arguments::Bounds kSteps{0, 1U << 30U};
constexpr Arguments::Bounds kEvery{1, 1U << 30U};
constexpr Arguments::Bounds kIterations{1, 1U << 20U};
constexpr Arguments::Bounds kRestart{1, 1000};
constexpr Arguments::Bounds kAverages{0, 1000};
constexpr Arguments::Bounds kKeep{0, 1000000};
constexpr Arguments::Bounds kRanks{1, 256};

const ArgumentSpec kGenerateRules{{"--progress"},
                                  {"--cells", "--length", "--parts", "--shape", "--grading",
                                   "--imbalance", "--seed", "--store", "--plan", "--ranks"}};
const ArgumentSpec kRunRules{
    {"--progress", "--resume"},
    {"--steps", "--step-length", "--problem", "--tolerance", "--iterations", "--restart",
     "--averages", "--checkpoints", "--every", "--store", "--plan", "--keep", "--mapping",
     "--ranks", "--resume-step"}};

command::ProgressMode progress_mode(const Arguments& arguments) {
  using enum command::ProgressMode;
  return arguments.has("--progress") ? kJsonLines : kSilent;
}

/// Reads options one after the other, and keeps the first failure.
class OptionReader {
 public:
  explicit OptionReader(const Arguments& arguments) : arguments_(arguments) {}

  template <class Number>
  void number(std::string_view option, Number& into, Arguments::Bounds bounds) {
    if (!status_) return;
    const Result<std::uint64_t> given = arguments_.number(option, into, bounds);
    if (given) {
      into = static_cast<Number>(*given);
    } else {
      status_ = failure(given.error());
    }
  }

  /// Accepts values from `least` to below `end`.
  void floating(std::string_view option, double& into, double least, double end) {
    const auto text = arguments_.text(option);
    if (!status_ || !text) return;
    double given = 0;
    const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), given);
    const bool is_number = error == std::errc{} && rest == text->data() + text->size();
    if (is_number && given >= least && given < end) {
      into = given;
      return;
    }
    status_ = failure(usage_error(fmt::format("{} must be a number from {} to below {}, not '{}'",
                                              option, least, end, *text)));
  }

  /// Accepts one of two words.
  template <class Choice>
  void choice(std::string_view option,
              Choice& into,
              std::array<std::pair<std::string_view, Choice>, 2> args) {
    const auto text = arguments_.text(option);
    if (!status_ || !text) return;
    for (const auto& [word, meaning] : args) {
      if (*text != word) continue;
      into = meaning;
      return;
    }
    status_ = failure(usage_error(
        fmt::format("{} must be {} or {}, not '{}'", option, args[0].first, args[1].first, *text)));
  }

  void store(StoreOptions& into) {
    StoreKind kind = StoreKind::kDataset;
    choice<StoreKind>("--store", kind,
                      {{{"folder", StoreKind::kDirectory}, {"dataset", StoreKind::kDataset}}});
    if (arguments_.has("--store")) into.kind = kind;
    text("--plan", into.plan);
    if (arguments_.has("--keep")) number("--keep", into.keep.emplace(), kKeep);
  }

  void text(std::string_view option, std::string& into) {
    if (const auto given = arguments_.text(option)) into = std::string(*given);
  }

  const Status& status() const { return status_; }

 private:
  const Arguments& arguments_;
  Status status_;
};

Result<GenerateOptions> generate_options(const Arguments& arguments, StoreOptions& store_options) {
  GenerateOptions options{.path = arguments.path(), .progress = progress_mode(arguments)};
  OptionReader reader(arguments);
  reader.number("--cells", options.mesh.cells_across, kCells);
  options.mesh.cells_along = 3 * options.mesh.cells_across;
  reader.number("--length", options.mesh.cells_along, kCells);
  reader.number("--parts", options.partition.parts, kParts);
  reader.choice<MeshShape>("--shape", options.mesh.shape,
                           {{{"tube", MeshShape::kTube}, {"box", MeshShape::kBox}}});
  reader.floating("--grading", options.mesh.grading, 0, 1);
  reader.floating("--imbalance", options.partition.imbalance, 0, 1);
  reader.number("--seed", options.mesh.seed, {});
  options.partition.seed = options.mesh.seed;
  reader.store(store_options);
  if (!reader.status()) return failure(reader.status().error());
  return options;
}

Result<RunOptions> run_options(const Arguments& arguments, StoreOptions& store_options) {
  RunOptions options{.mesh = arguments.path(), .progress = progress_mode(arguments)};
  OptionReader reader(arguments);
  reader.number("--steps", options.steps, kSteps);
  reader.number("--every", options.checkpoint_interval, kEvery);
  reader.floating("--step-length", options.simulation.step_length, 1e-9, 1e9);
  reader.floating("--tolerance", options.simulation.solver.tolerance, 1e-15, 1);
  reader.number("--iterations", options.simulation.solver.iterations, kIterations);
  reader.number("--restart", options.simulation.solver.restart, kRestart);
  reader.choice<ProblemKind>(
      "--problem", options.problem,
      {{{"diffusion", ProblemKind::kDiffusion}, {"advection", ProblemKind::kAdvection}}});
  reader.number("--averages", options.simulation.averages, kAverages);
  reader.text("--checkpoints", options.checkpoints);
  reader.text("--mapping", options.mapping);
  reader.store(store_options);
  if (arguments.has("--resume-step"))
    reader.number("--resume-step", options.resume_step.emplace(), kSteps);
  if (arguments.has("--resume") || options.resume_step) options.start_mode = StartMode::kResume;
  if (!reader.status()) return failure(reader.status().error());
  if (!options.checkpoints.empty()) return options;
  for (const char* const option :
       {"--resume", "--resume-step", "--every", "--store", "--plan", "--keep"}) {
    if (arguments.has(option))
      return failure(usage_error(fmt::format("{} requires --checkpoints PATH", option)));
  }
  return options;
}

/// The result of one rank. A failure is the same on all ranks.
struct RankResult {
  std::uint32_t rank = 0;
  Result<Json> document;
};

/// Calls `work(open_store, comm)` on all ranks. Returns the result of rank 0; of this rank, if the
/// program has its ranks already.
template <class Work>
Result<RankResult> run_on_ranks(const Arguments& arguments,
                                const RankLauncher& ranks,
                                const StoreOptions& store_options,
                                const Work& work) {
  const bool are_existing = ranks.kind == RankLauncher::Kind::kExisting;
  if (are_existing && arguments.has("--ranks")) {
    return failure(usage_error("--ranks applies to forebay-flow, without MPI"));
  }
  const auto count = arguments.number("--ranks", 1, kRanks);
  if (!count) return failure(count.error());
  const DatasetRanks dataset_ranks =
      are_existing ? DatasetRanks::kAllRanks : DatasetRanks::kOneRank;
  std::optional<RankResult> result;
  ranks.run(static_cast<std::uint32_t>(*count), [&](SolverComm& comm) {
    StoreFactory factory(store_options, ranks.make_runtime, dataset_ranks);
    RankResult local{comm.rank(), work(factory.opener(), comm)};
    if (are_existing || comm.rank() == 0) result = std::move(local);
  });
  return std::move(*result);
}

command::CommandResult outcome_of(const Result<RankResult>& result) {
  if (!result) return command::make_failure(result.error());
  command::CommandResult outcome = result->document
                                       ? command::make_result(*result->document)
                                       : command::make_failure(result->document.error());
  if (result->rank > 0) return {outcome.exit_code, {}, {}};
  return outcome;
}

command::CommandResult run_generate(const Arguments& arguments, const RankLauncher& ranks) {
  StoreOptions store_options;
  const auto options = generate_options(arguments, store_options);
  if (!options) return command::make_failure(options.error());
  return outcome_of(run_on_ranks(arguments, ranks, store_options,
                                 [&](const StoreOpener& open_store, SolverComm& comm) {
                                   return generate(*options, open_store, comm);
                                 }));
}

command::CommandResult run_run(const Arguments& arguments, const RankLauncher& ranks) {
  StoreOptions store_options;
  const auto options = run_options(arguments, store_options);
  if (!options) return command::make_failure(options.error());
  return outcome_of(run_on_ranks(arguments, ranks, store_options,
                                 [&](const StoreOpener& open_store, SolverComm& comm) {
                                   return run(*options, open_store, comm);
                                 }));
}

struct Command {
  std::string_view name;
  const ArgumentSpec& rules;
  command::CommandResult (*run)(const Arguments&, const RankLauncher&);
};
const std::array kCommands{Command{"generate", kGenerateRules, run_generate},
                           Command{"run", kRunRules, run_run}};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args,
                                   const RankLauncher& ranks) {
  const std::string_view name = args.empty() ? std::string_view{} : args.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    return command::make_failure(usage_error("a command is required: generate or run"));
  }
  const auto arguments = Arguments::parse(args.subspan(1), command->rules);
  if (!arguments) return command::make_failure(arguments.error());
  return command->run(*arguments, ranks);
}

}  // namespace forebay::flow
