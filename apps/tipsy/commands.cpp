// SPDX-License-Identifier: Apache-2.0
#include "tipsy/commands.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "command/cli.hpp"
#include "tipsy/analyze.hpp"
#include "tipsy/check.hpp"
#include "tipsy/generate.hpp"
#include "tipsy/plummer.hpp"

namespace forebay::tipsy {

using command::add_choice;
using command::add_flag;
using command::add_number;
using command::Bounds;

namespace {

/// Limits of option values, so that a typing error is reported and does not exhaust memory.
constexpr Bounds kTasks{1, 1U << 24U};
constexpr Bounds kThreads{1, 256};
constexpr Bounds kShells{1, 10000};
constexpr Bounds kFileBytes{0, INT64_MAX};
/// The limits of FOREBAY_BUDGET.
constexpr Bounds kBudgetBytes{64_KiB, 1024_GiB};

void add_precision(CLI::App& app, std::optional<Precision>& precision) {
  const auto add_double = [&](const std::string& name, unsigned bit, const std::string& help) {
    const auto apply = [&precision, bit] {
      const auto before = static_cast<unsigned>(precision.value_or(Precision::kSingle));
      precision = kPrecisions.at(before | bit);
    };
    return add_flag(app, name, apply, help);
  };
  CLI::Option* const single = add_flag(app, "--single", precision, Precision::kSingle,
                                       "Assume that all coordinates are f32");
  single->excludes(add_double("--double-positions", 1, "Assume that positions are f64"));
  single->excludes(add_double("--double-velocities", 2, "Assume that velocities are f64"));
}

void add_threads(CLI::App& app, unsigned& threads) {
  threads = std::max(1U, std::thread::hardware_concurrency());
  add_number(app, "--threads", threads, kThreads, "Threads");
}

/// The file, and how its header is read.
void add_snapshot(CLI::App& app, RunOptions& options) {
  command::add_path(app, "FILE", options.path, "The snapshot");
  add_precision(app, options.named_precision);
  add_choice<CountSource>(
      app, "--counts-from", options.count_source,
      {{"header", CountSource::kHeader}, {"families", CountSource::kFamilyCounts}},
      "Number of particles that counts: nbodies of the header, or the sum of its families");
}

void add_run_options(CLI::App& app, RunOptions& options) {
  add_snapshot(app, options);
  add_choice<SourceKind>(app, "--source", options.source.kind,
                         {{"forebay", SourceKind::kForebay}, {"ifstream", SourceKind::kIfstream}},
                         "Read with Forebay, or with one ifstream for each task");
  add_number(app, "--tasks", options.tasks, kTasks, "Tasks that share the particles");
  add_threads(app, options.threads);
  command::add_size(app, "--budget", options.source.budget_bytes, kBudgetBytes,
                    "Memory of Forebay");
  add_flag(app, "--cold", options.cache, PageCacheMode::kDrop,
           "Drop the file from the page cache first");
  command::add_progress(app, options.progress);
}

/// Reads the header of `path` with plain streams, as an agent would gain nothing.
Result<Snapshot> inspect(RunOptions options) {
  options.source = {SourceKind::kIfstream, {}};
  const auto run = SnapshotRun::open(options);
  if (!run) return failure(run.error());
  return (*run)->snapshot();
}

command::Run declare_info(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  add_snapshot(app, *options);
  return [options] {
    const auto document = inspect(*options).map(
        [](const Snapshot& snapshot) { return Json{{"snapshot", to_json(snapshot)}}; });
    return command::make_result(document);
  };
}

command::Run declare_check(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  add_run_options(app, *options);
  return [options] { return command::make_result(check(*options)); };
}

command::Run declare_analyze(CLI::App& app) {
  const auto options = std::make_shared<AnalyzeOptions>();
  add_run_options(app, options->run);
  add_number(app, "--shells", options->shells, kShells, "Shells of the density profile");
  return [options] { return command::make_result(analyze(*options)); };
}

struct NewSnapshot {
  GenerateOptions options;
  std::optional<Precision> precision;
  std::array<std::optional<std::uint64_t>, kFamilies.size()> counts;
  std::uint64_t size_bytes = 1_GiB;
};

Result<Json> run_generate(NewSnapshot made) {
  GenerateOptions& options = made.options;
  Layout& layout = options.layout;
  layout.precision = made.precision.value_or(Precision::kSingle);
  const auto [gas, dark, star] = made.counts;
  const auto counts = gas || dark || star
                          ? Counts{gas.value_or(0), dark.value_or(0), star.value_or(0)}
                          : counts_for_size(made.size_bytes, layout);
  if (!counts) return failure(counts.error());
  layout.counts = *counts;

  const Stopwatch watch;
  if (const Status done = generate(options); !done) return failure(done.error());
  const double seconds = watch.elapsed_s();
  const Result<Snapshot> snapshot =
      inspect({.path = options.path, .named_precision = layout.precision});
  if (!snapshot) return failure(snapshot.error());
  return Json{{"snapshot", to_json(*snapshot)},
              {"seed", options.seed},
              {"threads", options.threads},
              {"seconds", seconds},
              {"bytes_per_s", static_cast<double>(layout.end_offset()) / seconds},
              {"model",
               {{"name", "plummer"},
                {"total_mass", 1.0},
                {"scale_radius", 1.0},
                {"g", 1.0},
                {"half_mass_radius", kHalfMassRadius},
                {"dispersion", kDispersion}}}};
}

command::Run declare_generate(CLI::App& app) {
  const auto made = std::make_shared<NewSnapshot>();
  GenerateOptions& options = made->options;
  command::add_path(app, "FILE", options.path, "The new snapshot");
  CLI::Option* const size =
      command::add_size(app, "--size", made->size_bytes, kFileBytes, "Size of the file [1GiB]");
  for (const Family family : kFamilies) {
    const std::string name(name_of(family));
    size->excludes(add_number(app, "--" + name, made->counts.at(index_of(family)), {0, kCountLimit},
                              "Number of " + name + " particles"));
  }
  add_number(app, "--seed", options.seed, {}, "Seed; equal seeds give equal files");
  add_threads(app, options.threads);
  add_choice<ByteOrder>(app, "--byte-order", options.layout.order,
                        {{"standard", ByteOrder::kStandard}, {"native", ByteOrder::kNative}},
                        "Byte order");
  add_choice<std::uint64_t>(app, "--header", options.layout.header_bytes,
                            {{"32", kHeaderBytes}, {"28", kShortHeaderBytes}},
                            "Bytes of the header");
  add_precision(app, made->precision);
  command::add_progress(app, options.progress);
  return [made] { return command::make_result(run_generate(*made)); };
}

const std::array kCommands{
    command::Command{"info", "Print the header of a snapshot.", declare_info},
    command::Command{"check", "Read all of a snapshot and report damage.", declare_check},
    command::Command{"generate", "Write a Plummer sphere.", declare_generate},
    command::Command{"analyze", "Compute center of mass, velocity dispersion and density profile.",
                     declare_analyze},
};

}  // namespace

command::CommandResult run_command(std::span<const std::string_view> args) {
  CLI::App app("Inspect, check, generate and analyze Tipsy snapshots; print one JSON document.",
               "forebay-tipsy");
  return command::run(app, args, kCommands);
}

int run_program(int count, char** args) { return command::run_and_print(count, args, run_command); }

}  // namespace forebay::tipsy
