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
#include "flow/run.hpp"

namespace forebay::flow {

using command::ArgumentRules;
using command::Arguments;
using command::Json;
using command::usage_error;

namespace {

/// Sane ends of what can be asked for, so that a slip of the finger is a message and not a crash.
constexpr Arguments::Bounds kCells{1, 4096};
constexpr Arguments::Bounds kParts{1, 1U << 20U};
constexpr Arguments::Bounds kSteps{0, 1U << 30U};
constexpr Arguments::Bounds kEvery{1, 1U << 30U};
constexpr Arguments::Bounds kIterations{1, 1U << 20U};
constexpr Arguments::Bounds kRestart{1, 1000};
constexpr Arguments::Bounds kAverages{0, 1000};
constexpr Arguments::Bounds kKeep{0, 1000000};
constexpr Arguments::Bounds kRanks{1, 256};

const ArgumentRules kGenerateRules{{"--progress"},
                                   {"--cells", "--length", "--parts", "--shape", "--grading",
                                    "--imbalance", "--seed", "--store", "--plan", "--ranks"}};
const ArgumentRules kRunRules{
    {"--progress", "--resume"},
    {"--steps", "--step-length", "--problem", "--tolerance", "--iterations", "--restart",
     "--averages", "--checkpoints", "--every", "--store", "--plan", "--keep", "--mapping",
     "--ranks", "--resume-step"}};

command::ProgressMode progress_mode(const Arguments& arguments) {
  using enum command::ProgressMode;
  return arguments.has("--progress") ? kJsonLines : kSilent;
}

/// Reads options one after the other; the first failure stays.
class Reader {
 public:
  explicit Reader(const Arguments& arguments) : arguments_(arguments) {}

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

  /// From `least` to below `end`.
  void real(std::string_view option, double& into, double least, double end) {
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

  /// One of two words.
  template <class Choice>
  void choice(std::string_view option,
              Choice& into,
              std::array<std::pair<std::string_view, Choice>, 2> words) {
    const auto text = arguments_.text(option);
    if (!status_ || !text) return;
    for (const auto& [word, meaning] : words) {
      if (*text != word) continue;
      into = meaning;
      return;
    }
    status_ = failure(usage_error(fmt::format("{} must be {} or {}, not '{}'", option,
                                              words[0].first, words[1].first, *text)));
  }

  void store(StoreWishes& into) {
    StoreKind kind = StoreKind::kDataset;
    choice<StoreKind>("--store", kind,
                      {{{"folder", StoreKind::kFolder}, {"dataset", StoreKind::kDataset}}});
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

Result<GenerateOptions> generate_options(const Arguments& arguments, StoreWishes& wishes) {
  GenerateOptions options{.path = arguments.path(), .progress = progress_mode(arguments)};
  Reader reader(arguments);
  reader.number("--cells", options.mesh.cells_across, kCells);
  options.mesh.cells_along = 3 * options.mesh.cells_across;
  reader.number("--length", options.mesh.cells_along, kCells);
  reader.number("--parts", options.partition.parts, kParts);
  reader.choice<Shape>("--shape", options.mesh.shape,
                       {{{"tube", Shape::kTube}, {"box", Shape::kBox}}});
  reader.real("--grading", options.mesh.grading, 0, 1);
  reader.real("--imbalance", options.partition.imbalance, 0, 1);
  reader.number("--seed", options.mesh.seed, {});
  options.partition.seed = options.mesh.seed;
  reader.store(wishes);
  if (!reader.status()) return failure(reader.status().error());
  return options;
}

Result<RunOptions> run_options(const Arguments& arguments, StoreWishes& wishes) {
  RunOptions options{.mesh = arguments.path(), .progress = progress_mode(arguments)};
  Reader reader(arguments);
  reader.number("--steps", options.steps, kSteps);
  reader.number("--every", options.every, kEvery);
  reader.real("--step-length", options.simulation.step_length, 1e-9, 1e9);
  reader.real("--tolerance", options.simulation.solver.tolerance, 1e-15, 1);
  reader.number("--iterations", options.simulation.solver.iterations, kIterations);
  reader.number("--restart", options.simulation.solver.restart, kRestart);
  reader.choice<ProblemKind>(
      "--problem", options.problem,
      {{{"diffusion", ProblemKind::kDiffusion}, {"advection", ProblemKind::kAdvection}}});
  reader.number("--averages", options.simulation.averages, kAverages);
  reader.text("--checkpoints", options.checkpoints);
  reader.text("--mapping", options.mapping);
  reader.store(wishes);
  if (arguments.has("--resume-step"))
    reader.number("--resume-step", options.resume_step.emplace(), kSteps);
  if (arguments.has("--resume") || options.resume_step) options.begin = Begin::kResume;
  if (!reader.status()) return failure(reader.status().error());
  if (!options.checkpoints.empty()) return options;
  for (const char* const option :
       {"--resume", "--resume-step", "--every", "--store", "--plan", "--keep"}) {
    if (arguments.has(option))
      return failure(usage_error(fmt::format("{} needs --checkpoints PATH", option)));
  }
  return options;
}

/// What one rank has to say. A failure is the same on all.
struct Answer {
  std::uint32_t rank = 0;
  Result<Json> document;
};

/// Calls `work(open_store, team)` on all ranks; the answer of rank 0, or of this rank where it has
/// its own.
template <class Work>
Result<Answer> on_ranks(const Arguments& arguments,
                        const Ranks& ranks,
                        const StoreWishes& wishes,
                        const Work& work) {
  const bool are_given = ranks.kind == Ranks::Kind::kThese;
  if (are_given && arguments.has("--ranks")) {
    return failure(usage_error("--ranks is for the program without MPI"));
  }
  const auto count = arguments.number("--ranks", 1, kRanks);
  if (!count) return failure(count.error());
  const Writers writers = are_given ? Writers::kAllRanks : Writers::kOneRank;
  std::optional<Answer> answer;
  ranks.run(static_cast<std::uint32_t>(*count), [&](Team& team) {
    Stores stores(wishes, ranks.make_runtime, writers);
    Answer mine{team.rank(), work(stores.opener(), team)};
    if (are_given || team.rank() == 0) answer = std::move(mine);
  });
  return std::move(*answer);
}

command::Outcome outcome_of(const Result<Answer>& answer) {
  if (!answer) return command::failed(answer.error());
  command::Outcome outcome = answer->document ? command::answered(*answer->document)
                                              : command::failed(answer->document.error());
  if (answer->rank > 0) return {outcome.exit_code, {}, {}};
  return outcome;
}

command::Outcome run_generate(const Arguments& arguments, const Ranks& ranks) {
  StoreWishes wishes;
  const auto options = generate_options(arguments, wishes);
  if (!options) return command::failed(options.error());
  return outcome_of(
      on_ranks(arguments, ranks, wishes, [&](const StoreOpener& open_store, Team& team) {
        return generate(*options, open_store, team);
      }));
}

command::Outcome run_run(const Arguments& arguments, const Ranks& ranks) {
  StoreWishes wishes;
  const auto options = run_options(arguments, wishes);
  if (!options) return command::failed(options.error());
  return outcome_of(on_ranks(
      arguments, ranks, wishes,
      [&](const StoreOpener& open_store, Team& team) { return run(*options, open_store, team); }));
}

struct Command {
  std::string_view name;
  const ArgumentRules& rules;
  command::Outcome (*run)(const Arguments&, const Ranks&);
};
const std::array kCommands{Command{"generate", kGenerateRules, run_generate},
                           Command{"run", kRunRules, run_run}};

}  // namespace

command::Outcome run_command(std::span<const std::string_view> words, const Ranks& ranks) {
  const std::string_view name = words.empty() ? std::string_view{} : words.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    return command::failed(usage_error("a command is needed: generate or run"));
  }
  const auto arguments = Arguments::parse(words.subspan(1), command->rules);
  if (!arguments) return command::failed(arguments.error());
  return command->run(*arguments, ranks);
}

}  // namespace forebay::flow
