// SPDX-License-Identifier: Apache-2.0
#include "cube/commands.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "command/cli.hpp"
#include "cube/check.hpp"
#include "cube/compare.hpp"
#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/remap_commands.hpp"
#include "cube/values.hpp"

namespace forebay::cube {

using command::add_choice;
using command::add_flag;
using command::add_number;
using command::add_path;
using command::Bounds;

namespace {

/// Plausible bounds, so that a typing error gives a message and not a crash.
constexpr Bounds kLocations{1, 1U << 24U};
constexpr Bounds kMetrics{1, 10000};
constexpr Bounds kCallPaths{1, 1U << 20U};
constexpr Bounds kWorkers{1, 256};
constexpr Bounds kShown{0, 1000};
/// A tolerance: finite, not negative.
constexpr command::RealBounds kTolerance{.min = 0};

command::Run declare_info(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  add_path(app, "FILE", *path, "The profile");
  return [path] {
    return command::make_result(open_profile(*path).map(
        [](const Profile& profile) { return Json{{"profile", to_json(profile)}}; }));
  };
}

command::Run declare_check(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();
  add_path(app, "FILE", options->path, "The profile");
  command::add_progress(app, options->progress);
  return [options] { return command::make_result(check(*options)); };
}

command::Run declare_values(CLI::App& app) {
  const auto options = std::make_shared<ValuesOptions>();
  add_path(app, "FILE", options->path, "The profile");
  command::add_text(app, "--metric", "NAME", options->metric, "Unique name of the metric")
      ->required();
  add_number(app, "--cnode", options->cnode, {0, UINT32_MAX}, "Id of one call path [all]");
  return [options] { return command::make_result(read_values(*options)); };
}

command::Run declare_diff(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  add_path(app, "FIRST", options->paths[0], "The first profile");
  add_path(app, "SECOND", options->paths[1], "The second profile");
  command::add_real(app, "--absolute", options->tolerance.absolute, kTolerance,
                    "Ignore differences up to X");
  command::add_real(app, "--relative", options->tolerance.relative, kTolerance,
                    "Ignore relative differences up to X");
  add_number(app, "--shown", options->shown_max, kShown, "Differences to list for each metric");
  command::add_progress(app, options->progress);
  return [options] { return command::make_result(compare(*options)); };
}

void add_type(CLI::App& app, std::optional<ValueType>& type) {
  const auto parse = [&type](const std::string& value) {
    const auto parsed = parse_value_type(value);
    if (!parsed) command::reject("--type: " + parsed.error().cause());
    type = *parsed;
  };
  command::add_value(app, "--type", "NAME", parse, "Type of all values, such as INT16");
}

struct GenerateCommand {
  GenerateOptions options;
  std::optional<std::uint64_t> rows;
};

Result<Json> run_generate(const GenerateCommand& made) {
  GenerateOptions options = made.options;
  const SyntheticOptions& shape = options.shape;
  options.rows = made.rows.value_or(default_row_count(shape));
  const std::uint64_t rows_max = std::uint64_t{shape.metrics} * shape.call_paths;
  if (options.rows < shape.metrics || options.rows > rows_max) {
    return failure(
        command::usage_error(fmt::format("--rows must be a whole number from {} to {}, not '{}'",
                                         shape.metrics, rows_max, options.rows)));
  }
  const auto start = std::chrono::steady_clock::now();
  if (const Status done = generate(options); !done) return failure(done.error());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto profile = open_profile(options.path);
  if (!profile) return failure(profile.error());
  return Json{{"profile", to_json(*profile)},
              {"seed", options.seed},
              {"workers", options.workers},
              {"seconds", elapsed.count()},
              {"bytes_per_s", static_cast<double>(profile->file_bytes()) / elapsed.count()}};
}

command::Run declare_generate(CLI::App& app) {
  const auto made = std::make_shared<GenerateCommand>();
  GenerateOptions& options = made->options;
  options.workers = std::max(1U, std::thread::hardware_concurrency());
  add_path(app, "FILE", options.path, "The new profile");
  add_number(app, "--threads", options.shape.locations, kLocations, "Locations");
  add_number(app, "--metrics", options.shape.metrics, kMetrics, "Metrics");
  add_number(app, "--cnodes", options.shape.call_paths, kCallPaths, "Call paths");
  add_number(app, "--rows", made->rows, {}, "Rows of all metrics [614, or all]");
  add_type(app, options.shape.type);
  add_choice<IndexFormat>(app, "--index", options.index,
                          {{"sparse", IndexFormat::kSparse}, {"dense", IndexFormat::kDense}},
                          "Index of rows");
  add_choice<ByteOrder>(app, "--byte-order", options.order,
                        {{"little", ByteOrder::kLittle}, {"big", ByteOrder::kBig}}, "Byte order");
  add_compression(app, options.compression_level);
  add_number(app, "--seed", options.seed, {}, "Seed; equal seeds give equal files");
  add_number(app, "--workers", options.workers, kWorkers, "Threads to use");
  command::add_progress(app, options.progress);
  return [made] { return command::make_result(run_generate(*made)); };
}

command::Run declare_remap(CLI::App& app) {
  const auto options = std::make_shared<RemapOptions>();
  add_remap(app, *options);
  return [options] {
    WriterComm self_comm;
    return command::make_result(run_remap(*options, self_comm));
  };
}

const std::array kCommands{
    command::Command{"info", "Print metrics, call paths and locations of a profile.", declare_info},
    command::Command{"check", "Read all of a profile and report damage.", declare_check},
    command::Command{"generate", "Write a profile of any size.", declare_generate},
    command::Command{"diff", "Report where two profiles differ.", declare_diff},
    command::Command{"remap", "Write a profile with computed metrics.", declare_remap},
    command::Command{"values", "Print the values of a metric.", declare_values},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args) {
  CLI::App app(
      "Inspect, check, generate, compare and remap Cube profiles; print one JSON document.",
      "forebay-cube");
  return command::run(app, args, kCommands);
}

int run_program(int count, char** args) { return command::run_and_print(count, args, run_command); }

}  // namespace forebay::cube
