// SPDX-License-Identifier: Apache-2.0
#include "flow/commands.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command/cli.hpp"
#include "flow/generate.hpp"
#include "flow/solver_run.hpp"

namespace forebay::flow {

using command::add_choice;
using command::add_number;
using command::Bounds;
using command::Json;

namespace {

/// Limits of option values, so that a typing error is reported and does not exhaust memory.
constexpr Bounds kCells{1, 4096};
constexpr Bounds kParts{1, 1U << 20U};
constexpr Bounds kSteps{0, 1U << 30U};
constexpr Bounds kEvery{1, 1U << 30U};
constexpr Bounds kIterations{1, 1U << 20U};
constexpr Bounds kRestart{1, 1000};
constexpr Bounds kAverages{0, 1000};
constexpr Bounds kKeep{0, 1000000};
constexpr Bounds kRanks{1, 256};
constexpr command::RealBounds kFraction{0, 1};
constexpr command::RealBounds kStepLength{1e-9, 1e9};
constexpr command::RealBounds kTolerance{1e-15, 1};

/// How a command runs: on its ranks, with its store.
struct RunContext {
  const RankLauncher& launcher;
  StoreOptions store = {};
  std::uint32_t ranks = 1;
};

/// Adds the options that both commands have. Returns those of the store.
std::vector<CLI::Option*> add_context(CLI::App& app, RunContext& context) {
  CLI::Option* const ranks =
      add_number(app, "--ranks", context.ranks, kRanks, "Ranks, which are threads");
  if (context.launcher.kind == RankLauncher::Kind::kExisting)
    ranks->check([](const std::string&) { return "applies to forebay-flow, without MPI"; });
  return {
      add_choice<StoreKind>(app, "--store", context.store.kind,
                            {{"folder", StoreKind::kDirectory}, {"dataset", StoreKind::kDataset}},
                            "Type of a new store"),
      command::add_text(app, "--plan", "PLAN", context.store.plan, "Strategy, or FILE.toml")};
}

/// The result of one rank. A failure is the same on all ranks.
struct RankResult {
  std::uint32_t rank = 0;
  Result<Json> document;
};

/// Calls `work(open_store, comm)` on all ranks. Returns the result of rank 0; of this rank, if the
/// program has its ranks already.
template <class Work>
command::CommandResult run_on_ranks(const RunContext& context, const Work& work) {
  const bool are_existing = context.launcher.kind == RankLauncher::Kind::kExisting;
  const DatasetRanks dataset_ranks =
      are_existing ? DatasetRanks::kAllRanks : DatasetRanks::kOneRank;
  std::optional<RankResult> result;
  context.launcher.run(context.ranks, [&](SolverComm& comm) {
    StoreFactory factory(context.store, context.launcher.make_runtime, dataset_ranks);
    RankResult local{comm.rank(), work(factory.opener(), comm)};
    if (are_existing || comm.rank() == 0) result = std::move(local);
  });
  command::CommandResult outcome = command::make_result(result->document);
  if (result->rank > 0) return {outcome.exit_code, {}, {}};
  return outcome;
}

/// The cells along are three times those across unless given.
struct GenerateCommand {
  RunContext context;
  GenerateOptions options = {};
  std::optional<std::uint32_t> cells_along = {};
};

command::Run declare_generate(CLI::App& app, const RankLauncher& launcher) {
  const auto request = std::make_shared<GenerateCommand>(RunContext{launcher});
  MeshOptions& mesh = request->options.mesh;
  PartitionOptions& partition = request->options.partition;
  command::add_path(app, "MESH", request->options.path, "The new mesh");
  add_number(app, "--cells", mesh.cells_across, kCells, "Cells across");
  add_number(app, "--length", request->cells_along, kCells, "Cells along [3 x cells]");
  add_number(app, "--parts", partition.parts, kParts, "Parts of the mesh");
  add_choice<MeshShape>(app, "--shape", mesh.shape,
                        {{"tube", MeshShape::kTube}, {"box", MeshShape::kBox}}, "Shape");
  command::add_real(app, "--grading", mesh.grading, kFraction, "Density inside");
  command::add_real(app, "--imbalance", partition.imbalance, kFraction,
                    "Largest part above the mean");
  add_number(app, "--seed", mesh.seed, {}, "Seed; equal seeds give equal meshes");
  add_context(app, request->context);
  command::add_progress(app, request->options.progress);
  return [request] {
    GenerateOptions options = request->options;
    options.mesh.cells_along = request->cells_along.value_or(3 * options.mesh.cells_across);
    options.partition.seed = options.mesh.seed;
    return run_on_ranks(request->context, [&](const StoreOpener& open_store, SolverComm& comm) {
      return generate(options, open_store, comm);
    });
  };
}

struct RunCommand {
  RunContext context;
  RunOptions options = {};
};

void add_checkpoint_options(CLI::App& app, RunCommand& request) {
  RunOptions& options = request.options;
  CLI::Option* const checkpoints = command::add_text(
      app, "--checkpoints", "PATH", options.checkpoints, "Store of checkpoints [none]");
  std::vector<CLI::Option*> dependent = add_context(app, request.context);
  dependent.push_back(
      add_number(app, "--every", options.checkpoint_interval, kEvery, "Steps between checkpoints"));
  dependent.push_back(
      add_number(app, "--keep", request.context.store.keep, kKeep, "Newest checkpoints to keep"));
  dependent.push_back(command::add_flag(app, "--tune", request.context.store.tuning, Tuning::kOn,
                                        "Try plans in the first checkpoints"));
  dependent.push_back(command::add_flag(app, "--resume", options.start_mode, StartMode::kResume,
                                        "Resume from the newest checkpoint"));
  dependent.push_back(
      add_number(app, "--resume-step", options.resume_step, kSteps, "Resume from this checkpoint"));
  for (CLI::Option* const option : dependent)
    option->needs(checkpoints);
}

command::Run declare_run(CLI::App& app, const RankLauncher& launcher) {
  const auto request = std::make_shared<RunCommand>(RunContext{launcher});
  RunOptions& options = request->options;
  SimulationOptions& simulation = options.simulation;
  command::add_path(app, "MESH", options.mesh, "The mesh");
  add_number(app, "--steps", options.steps, kSteps, "Steps done at the end");
  command::add_real(app, "--step-length", simulation.step_length, kStepLength, "Length of a step");
  command::add_real(app, "--tolerance", simulation.solver.tolerance, kTolerance,
                    "Residual / right-hand side");
  add_number(app, "--iterations", simulation.solver.iterations, kIterations,
             "Maximum number of iterations of a step");
  add_number(app, "--restart", simulation.solver.restart, kRestart, "Vectors of GMRES");
  add_choice<ProblemKind>(
      app, "--problem", options.problem,
      {{"diffusion", ProblemKind::kDiffusion}, {"advection", ProblemKind::kAdvection}}, "Problem");
  add_number(app, "--averages", simulation.averages, kAverages, "Running means of each node");
  command::add_text(app, "--mapping", "MAP", options.mapping, "blocks, round-robin or random:SEED");
  add_checkpoint_options(app, *request);
  command::add_progress(app, options.progress);
  return [request] {
    if (request->options.resume_step) request->options.start_mode = StartMode::kResume;
    return run_on_ranks(request->context, [&](const StoreOpener& open_store, SolverComm& comm) {
      return run(request->options, open_store, comm);
    });
  };
}

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args,
                                   const RankLauncher& ranks) {
  const std::array commands{
      command::Command{"generate", "Write a mesh of uneven parts.",
                       [&](CLI::App& app) { return declare_generate(app, ranks); }},
      command::Command{"run", "Compute steps on a mesh and write checkpoints.",
                       [&](CLI::App& app) { return declare_run(app, ranks); }}};
  CLI::App app("Generate meshes, and solve on them; print one JSON document.", "forebay-flow");
  return command::run(app, args, commands);
}

}  // namespace forebay::flow
