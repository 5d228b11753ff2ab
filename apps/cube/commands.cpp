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
#include "cube/generate.hpp"
#include "cube/inflater.hpp"
#include "cube/profile_file.hpp"
#include "cube/remap_commands.hpp"
#include "cube/values.hpp"

namespace forebay::cube {

using command::ArgumentRules;
using command::Arguments;
using command::usage_error;

namespace {

/// Sane ends of what can be asked for, so that a slip of the finger is a message and not a crash.
constexpr Arguments::Bounds kLocations{1, 1U << 24U};
constexpr Arguments::Bounds kMetrics{1, 10000};
constexpr Arguments::Bounds kCallPaths{1, 1U << 20U};
constexpr Arguments::Bounds kWorkers{1, 256};
constexpr Arguments::Bounds kShown{0, 1000};
constexpr Arguments::Bounds kLevels{kPackingLevelMin, kPackingLevelMax};

const ArgumentRules kInfoRules{{}, {}};
const ArgumentRules kCheckRules{{"--progress"}, {}};
const ArgumentRules kValuesRules{{}, {"--metric", "--cnode"}};
const ArgumentRules kDiffRules{{"--progress"}, {"--absolute", "--relative", "--shown"}, 2};
const ArgumentRules kGenerateRules{{"--progress", "--compress"},
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
  return values_of(options);
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
  const auto shown = arguments.number("--shown", 5, kShown);
  if (!shown) return failure(shown.error());
  return compare({.paths = {arguments.paths().front(), arguments.paths().back()},
                  .tolerance = {*absolute, *relative},
                  .shown = *shown,
                  .progress = progress_mode(arguments)});
}

/// Which of two words an option has; the first if it is absent.
Result<bool> is_second(const Arguments& arguments,
                       std::string_view option,
                       std::array<std::string_view, 2> words) {
  const auto text = arguments.text(option);
  if (!text || *text == words[0]) return false;
  if (*text == words[1]) return true;
  return failure(
      usage_error(fmt::format("{} must be {} or {}, not '{}'", option, words[0], words[1], *text)));
}

Result<SyntheticShape> new_shape(const Arguments& arguments) {
  SyntheticShape shape;
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

Status add_storing(const Arguments& arguments, GenerateOptions& options) {
  const auto dense = is_second(arguments, "--index", {"sparse", "dense"});
  if (!dense) return failure(dense.error());
  const auto big = is_second(arguments, "--byte-order", {"little", "big"});
  if (!big) return failure(big.error());
  const auto level = arguments.number("--level", kPackingLevelUsual, kLevels);
  if (!level) return failure(level.error());
  if (arguments.has("--level") && !arguments.has("--compress")) {
    return failure(usage_error("--level needs --compress"));
  }
  if (*dense) options.index = IndexFormat::kDense;
  if (*big) options.order = ByteOrder::kBig;
  if (arguments.has("--compress")) options.packing_level = static_cast<int>(*level);
  return {};
}

Result<GenerateOptions> generate_options(const Arguments& arguments) {
  GenerateOptions options{.path = arguments.path(), .progress = progress_mode(arguments)};
  const auto shape = new_shape(arguments);
  if (!shape) return failure(shape.error());
  options.shape = *shape;
  const std::uint64_t all = std::uint64_t{shape->metrics} * shape->call_paths;
  const auto rows = arguments.number("--rows", usual_rows(*shape), {shape->metrics, all});
  if (!rows) return failure(rows.error());
  options.rows = *rows;
  const auto seed = arguments.number("--seed", 1, {});
  if (!seed) return failure(seed.error());
  options.seed = *seed;
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto workers = arguments.number("--workers", cores, kWorkers);
  if (!workers) return failure(workers.error());
  options.workers = static_cast<unsigned>(*workers);
  if (const Status added = add_storing(arguments, options); !added) return failure(added.error());
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
  const ArgumentRules& rules;
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

command::Outcome run_command(std::span<const std::string_view> words) {
  const std::string_view name = words.empty() ? std::string_view{} : words.front();
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    return command::failed(
        usage_error("a command is needed: info, check, generate, diff, remap or values"));
  }
  const auto arguments = Arguments::parse(words.subspan(1), command->rules);
  if (!arguments) return command::failed(arguments.error());
  const Result<Json> document = command->run(*arguments);
  if (!document) return command::failed(document.error());
  return command::answered(*document);
}

int run_program(int count, char** words) {
  return command::run_and_print(count, words, run_command);
}

}  // namespace forebay::cube
