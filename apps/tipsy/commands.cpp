// SPDX-License-Identifier: Apache-2.0
#include "tipsy/commands.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

#include "command/arguments.hpp"
#include "tipsy/analyze.hpp"
#include "tipsy/check.hpp"
#include "tipsy/generate.hpp"
#include "tipsy/plummer.hpp"

namespace forebay::tipsy {

using command::Arguments;
using command::ArgumentSpec;
using command::usage_error;

namespace {

/// Limits of option values, so that a typing error is reported and does not exhaust memory.
constexpr std::uint64_t kTasksMax = 1U << 24U;
constexpr std::uint64_t kThreadsMax = 256;
constexpr std::uint64_t kShellsMax = 10000;
constexpr Arguments::Bounds kFileBytes{0, INT64_MAX};
/// The limits of FOREBAY_BUDGET.
constexpr Arguments::Bounds kBudgetBytes{64_KiB, 1024_GiB};

const std::vector<std::string_view> kPrecisionFlags{"--single", "--double-positions",
                                                    "--double-velocities"};

std::vector<std::string_view> with_precision(std::vector<std::string_view> flags) {
  flags.insert(flags.end(), kPrecisionFlags.begin(), kPrecisionFlags.end());
  return flags;
}

const ArgumentSpec kInfoRules{with_precision({}), {"--counts-from"}};
const ArgumentSpec kCheckRules{with_precision({"--progress", "--cold"}),
                               {"--source", "--tasks", "--threads", "--budget", "--counts-from"}};
const ArgumentSpec kAnalyzeRules{
    with_precision({"--progress", "--cold"}),
    {"--source", "--tasks", "--threads", "--budget", "--shells", "--counts-from"}};
const ArgumentSpec kGenerateRules{
    with_precision({"--progress"}),
    {"--size", "--gas", "--dark", "--star", "--seed", "--threads", "--byte-order", "--header"}};

/// The index in `names` of the option's value; `otherwise` if the option is absent.
Result<std::size_t> choice(const Arguments& arguments,
                           std::string_view option,
                           std::span<const std::string_view> names,
                           std::size_t otherwise) {
  const std::optional<std::string_view> given = arguments.text(option);
  if (!given) return otherwise;
  const auto found = std::ranges::find(names, *given);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return failure(usage_error(
      fmt::format("{} must be one of {}, not '{}'", option, fmt::join(names, ", "), *given)));
}

Result<std::optional<Precision>> precision_option(const Arguments& arguments) {
  const bool single = arguments.has("--single");
  const bool positions = arguments.has("--double-positions");
  const bool velocities = arguments.has("--double-velocities");
  if (single && (positions || velocities)) {
    return failure(usage_error("--single excludes --double-positions and --double-velocities"));
  }
  if (!single && !positions && !velocities) return std::optional<Precision>{};
  return std::optional(kPrecisions[(positions ? 1U : 0U) + (velocities ? 2U : 0U)]);
}

Result<CountSource> count_source(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kNames{"header", "families"};
  return choice(arguments, "--counts-from", kNames, 0).map([](std::size_t place) {
    return static_cast<CountSource>(place);
  });
}

Result<std::uint64_t> thread_count(const Arguments& arguments) {
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  return arguments.number("--threads", cores, {1, kThreadsMax});
}

command::ProgressMode progress_mode(const Arguments& arguments) {
  return arguments.has("--progress") ? command::ProgressMode::kJsonLines
                                     : command::ProgressMode::kSilent;
}

Result<RunOptions> run_options(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kSources{"forebay", "ifstream"};
  const auto named_precision = precision_option(arguments);
  if (!named_precision) return failure(named_precision.error());
  const auto from = count_source(arguments);
  if (!from) return failure(from.error());
  const auto source = choice(arguments, "--source", kSources, 0);
  if (!source) return failure(source.error());
  const auto tasks = arguments.number("--tasks", 4096, {1, kTasksMax});
  if (!tasks) return failure(tasks.error());
  const auto threads = thread_count(arguments);
  if (!threads) return failure(threads.error());
  const auto budget = arguments.size_bytes("--budget", kBudgetBytes);
  if (!budget) return failure(budget.error());
  return RunOptions{
      .path = arguments.path(),
      .named_precision = *named_precision,
      .count_source = *from,
      .source = {*source == 0 ? SourceKind::kForebay : SourceKind::kIfstream, *budget},
      .tasks = *tasks,
      .threads = static_cast<unsigned>(*threads),
      .cache = arguments.has("--cold") ? PageCacheMode::kDrop : PageCacheMode::kKeep,
      .progress = progress_mode(arguments)};
}

/// Reads the header of `path` with plain streams, as an agent would gain nothing.
Result<Snapshot> inspect(RunOptions options) {
  options.source = {SourceKind::kIfstream, {}};
  const auto run = SnapshotRun::open(options);
  if (!run) return failure(run.error());
  return (*run)->snapshot();
}

Result<Json> run_info(const Arguments& arguments) {
  const auto named_precision = precision_option(arguments);
  if (!named_precision) return failure(named_precision.error());
  const auto from = count_source(arguments);
  if (!from) return failure(from.error());
  const Result<Snapshot> snapshot = inspect(
      {.path = arguments.path(), .named_precision = *named_precision, .count_source = *from});
  if (!snapshot) return failure(snapshot.error());
  return Json{{"snapshot", to_json(*snapshot)}};
}

Result<Json> run_check(const Arguments& arguments) {
  const auto options = run_options(arguments);
  if (!options) return failure(options.error());
  return check(*options);
}

Result<Json> run_analyze(const Arguments& arguments) {
  const auto options = run_options(arguments);
  if (!options) return failure(options.error());
  const auto shells = arguments.number("--shells", 50, {1, kShellsMax});
  if (!shells) return failure(shells.error());
  return analyze({*options, *shells});
}

/// Byte order, header and precision of a new file.
Result<Layout> new_layout(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kOrders{"standard", "native"};
  constexpr std::array<std::string_view, 2> kHeaders{"32", "28"};
  const auto named_precision = precision_option(arguments);
  if (!named_precision) return failure(named_precision.error());
  const auto order = choice(arguments, "--byte-order", kOrders, 0);
  if (!order) return failure(order.error());
  const auto header = choice(arguments, "--header", kHeaders, 0);
  if (!header) return failure(header.error());
  return Layout{{},
                named_precision->value_or(Precision::kSingle),
                *order == 0 ? ByteOrder::kStandard : ByteOrder::kNative,
                *header == 0 ? kHeaderBytes : kShortHeaderBytes};
}

/// Counts of a new file: given, or computed from its size.
Result<Counts> new_counts(const Arguments& arguments, const Layout& shape) {
  std::array<std::uint64_t, 3> counts{};
  bool given = false;
  for (const Family family : kFamilies) {
    const std::string option = fmt::format("--{}", name_of(family));
    const auto count = arguments.number(option, 0, {0, kCountLimit});
    if (!count) return failure(count.error());
    counts[index_of(family)] = *count;
    given = given || arguments.has(option);
  }
  if (given && arguments.has("--size")) {
    return failure(usage_error("--size excludes --gas, --dark and --star"));
  }
  if (given) return Counts{counts[0], counts[1], counts[2]};
  const auto size = arguments.size_bytes("--size", kFileBytes);
  if (!size) return failure(size.error());
  return counts_for_size(size->value_or(1_GiB), shape);
}

Result<Json> run_generate(const Arguments& arguments) {
  auto layout = new_layout(arguments);
  if (!layout) return failure(layout.error());
  const auto counts = new_counts(arguments, *layout);
  if (!counts) return failure(counts.error());
  layout->counts = *counts;
  const auto seed = arguments.number("--seed", 1, {});
  if (!seed) return failure(seed.error());
  const auto threads = thread_count(arguments);
  if (!threads) return failure(threads.error());

  const Stopwatch watch;
  const Status made = generate({.path = arguments.path(),
                                .layout = *layout,
                                .seed = *seed,
                                .threads = static_cast<unsigned>(*threads),
                                .progress = progress_mode(arguments)});
  if (!made) return failure(made.error());
  const double seconds = watch.elapsed_s();
  const Result<Snapshot> snapshot =
      inspect({.path = arguments.path(), .named_precision = layout->precision});
  if (!snapshot) return failure(snapshot.error());
  return Json{{"snapshot", to_json(*snapshot)},
              {"seed", *seed},
              {"threads", *threads},
              {"seconds", seconds},
              {"bytes_per_s", static_cast<double>(layout->end_offset()) / seconds},
              {"model",
               {{"name", "plummer"},
                {"total_mass", 1.0},
                {"scale_radius", 1.0},
                {"g", 1.0},
                {"half_mass_radius", kHalfMassRadius},
                {"dispersion", kDispersion}}}};
}

struct Command {
  std::string_view name;
  const ArgumentSpec& rules;
  Result<Json> (*run)(const Arguments& arguments);
};
const std::array kCommands{
    Command{"info", kInfoRules, run_info},
    Command{"check", kCheckRules, run_check},
    Command{"generate", kGenerateRules, run_generate},
    Command{"analyze", kAnalyzeRules, run_analyze},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args) {
  const std::string_view name = args.empty() ? std::string_view{} : args.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    return command::make_failure(
        usage_error("a command is required: info, check, generate or analyze"));
  }
  const auto arguments = Arguments::parse(args.subspan(1), command->rules);
  if (!arguments) return command::make_failure(arguments.error());
  const Result<Json> document = command->run(*arguments);
  if (!document) return command::make_failure(document.error());
  return command::make_result(*document);
}

int run_program(int count, char** args) { return command::run_and_print(count, args, run_command); }

}  // namespace forebay::tipsy
