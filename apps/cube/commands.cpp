// SPDX-License-Identifier: Apache-2.0
#include "cube/commands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "command/arguments.hpp"
#include "cube/check.hpp"
#include "cube/compare.hpp"
#include "cube/compression.hpp"
#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/remap_commands.hpp"
#include "cube/values.hpp"

namespace forebay::cube {

using command::Arguments;
using command::ArgumentSpec;
using command::usage_error;

namespace {

/// Plausible bounds, so that a typing error gives a message and not a crash.
constexpr Arguments::Bounds kLocations{1, 1U << 24U};
constexpr Arguments::Bounds kMetrics{1, 10000};
constexpr Arguments::Bounds kCallPaths{1, 1U << 20U};
constexpr Arguments::Bounds kWorkers{1, 256};
constexpr Arguments::Bounds kShownBounds{0, 1000};
constexpr Arguments::Bounds kLevels{kCompressionLevelMin, kCompressionLevelMax};

const ArgumentSpec kInfoRules{{}, {}};
const ArgumentSpec kCheckRules{{"--progress"}, {}};
const ArgumentSpec kValuesRules{{}, {"--metric", "--cnode"}};
const ArgumentSpec kDiffRules{{"--progress"}, {"--absolute", "--relative", "--shown"}, 2};
const ArgumentSpec kGenerateRules{{"--progress", "--compress"},
                                  {"--threads", "--metrics", "--cnodes", "--rows", "--type",
                                   "--index", "--byte-order", "--level", "--seed", "--workers"}};

command::ProgressMode progress_mode(const Arguments& arguments) {
  using enum command::ProgressMode;
  return arguments.has("--progress") ? kJsonLines : kSilent;
}

Result<Json> run_info(const Arguments& arguments) {
  const auto profile = open_profile(arguments.path());
  if (!profile) return failure(profile.error());
  return Json{{"profile", to_json(*profile)}};
}

Result<Json> run_check(const Arguments& arguments) {
  return check({arguments.path(), progress_mode(arguments)});
}

Result<Json> run_values(const Arguments& arguments) {
  const auto metric = arguments.text("--metric");
  if (!metric) return failure(usage_error("--metric NAME is needed"));
  const auto cnode = arguments.number("--cnode", 0, {0, UINT32_MAX});
  if (!cnode) return failure(cnode.error());
  ValuesOptions options{.path = arguments.path(), .metric = std::string(*metric)};
  if (arguments.has("--cnode")) options.cnode = static_cast<std::uint32_t>(*cnode);
  return read_values(options);
}

/// A number of 0 or more; 0 if the option is absent.
Result<double> tolerance(const Arguments& arguments, std::string_view option) {
  const auto text = arguments.text(option);
  if (!text) return 0.0;
  double number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool is_number = error == std::errc{} && end == text->data() + text->size();
  if (is_number && std::isfinite(number) && number >= 0) return number;
  return failure(
      usage_error(fmt::format("{} must be a number of 0 or more, not '{}'", option, *text)));
}

Result<Json> run_diff(const Arguments& arguments) {
  const auto absolute = tolerance(arguments, "--absolute");
  if (!absolute) return failure(absolute.error());
  const auto relative = tolerance(arguments, "--relative");
  if (!relative) return failure(relative.error());
  const auto shown = arguments.number("--shown", 5, kShownBounds);
  if (!shown) return failure(shown.error());
  return compare({.paths = {arguments.paths().front(), arguments.paths().back()},
                  .tolerance = {*absolute, *relative},
                  .shown_max = *shown,
                  .progress = progress_mode(arguments)});
}

/// Whether an option has the second of two values; false if it is absent.
Result<bool> parse_binary_choice(const Arguments& arguments,
                                 std::string_view option,
                                 std::array<std::string_view, 2> args) {
  const auto text = arguments.text(option);
  if (!text || *text == args[0]) return false;
  if (*text == args[1]) return true;
  return failure(
      usage_error(fmt::format("{} must be {} or {}, not '{}'", option, args[0], args[1], *text)));
}

Result<SyntheticOptions> synthetic_options(const Arguments& arguments) {
  SyntheticOptions shape;
  const auto locations = arguments.number("--threads", shape.locations, kLocations);
  if (!locations) return failure(locations.error());
  const auto metrics = arguments.number("--metrics", shape.metrics, kMetrics);
  if (!metrics) return failure(metrics.error());
  const auto call_paths = arguments.number("--cnodes", shape.call_paths, kCallPaths);
  if (!call_paths) return failure(call_paths.error());
  shape.locations = static_cast<std::uint32_t>(*locations);
  shape.metrics = static_cast<std::uint32_t>(*metrics);
  shape.call_paths = static_cast<std::uint32_t>(*call_paths);
  if (const auto text = arguments.text("--type")) {
    const auto type = parse_value_type(*text);
    if (!type) return failure(usage_error(fmt::format("--type: {}", type.error().cause())));
    shape.type = *type;
  }
  return shape;
}

Status add_storage_options(const Arguments& arguments, GenerateOptions& options) {
  const auto dense = parse_binary_choice(arguments, "--index", {"sparse", "dense"});
  if (!dense) return failure(dense.error());
  const auto big = parse_binary_choice(arguments, "--byte-order", {"little", "big"});
  if (!big) return failure(big.error());
  const auto level = arguments.number("--level", kCompressionLevelDefault, kLevels);
  if (!level) return failure(level.error());
  if (arguments.has("--level") && !arguments.has("--compress")) {
    return failure(usage_error("--level needs --compress"));
  }
  if (*dense) options.index = IndexFormat::kDense;
  if (*big) options.order = ByteOrder::kBig;
  if (arguments.has("--compress")) options.compression_level = static_cast<int>(*level);
  return {};
}

Result<GenerateOptions> generate_options(const Arguments& arguments) {
  GenerateOptions options{.path = arguments.path(), .progress = progress_mode(arguments)};
  const auto shape = synthetic_options(arguments);
  if (!shape) return failure(shape.error());
  options.shape = *shape;
  const std::uint64_t rows_max = std::uint64_t{shape->metrics} * shape->call_paths;
  const auto rows =
      arguments.number("--rows", default_row_count(*shape), {shape->metrics, rows_max});
  if (!rows) return failure(rows.error());
  options.rows = *rows;
  const auto seed = arguments.number("--seed", 1, {});
  if (!seed) return failure(seed.error());
  options.seed = *seed;
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto workers = arguments.number("--workers", cores, kWorkers);
  if (!workers) return failure(workers.error());
  options.workers = static_cast<unsigned>(*workers);
  if (const Status added = add_storage_options(arguments, options); !added)
    return failure(added.error());
  return options;
}

Result<Json> run_generate(const Arguments& arguments) {
  const auto options = generate_options(arguments);
  if (!options) return failure(options.error());
  const auto start = std::chrono::steady_clock::now();
  if (const Status made = generate(*options); !made) return failure(made.error());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto profile = open_profile(options->path);
  if (!profile) return failure(profile.error());
  return Json{{"profile", to_json(*profile)},
              {"seed", options->seed},
              {"workers", options->workers},
              {"seconds", elapsed.count()},
              {"bytes_per_s", static_cast<double>(profile->file_bytes()) / elapsed.count()}};
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
    Command{"diff", kDiffRules, run_diff},
    Command{"remap", remap_rules(), run_remap},
    Command{"values", kValuesRules, run_values},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args) {
  const std::string_view name = args.empty() ? std::string_view{} : args.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    return command::make_failure(
        usage_error("a command is needed: info, check, generate, diff, remap or values"));
  }
  const auto arguments = Arguments::parse(args.subspan(1), command->rules);
  if (!arguments) return command::make_failure(arguments.error());
  const Result<Json> document = command->run(*arguments);
  if (!document) return command::make_failure(document.error());
  return command::make_result(*document);
}

int run_program(int count, char** args) { return command::run_and_print(count, args, run_command); }

}  // namespace forebay::cube
