// SPDX-License-Identifier: Apache-2.0
// The program forebay-trace: prints the streams of traces as one JSON document, compares predictors
// on them, and exchanges records with files. `forebay trace` calls it and prints tables and
// plots.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "command/cli.hpp"
#include "tools/trace/loaded_trace.hpp"
#include "tools/trace/record_files.hpp"
#include "tools/trace/simulation_document.hpp"
#include "tools/trace/streams_document.hpp"

namespace forebay::trace_tool {
namespace {

using command::Json;
using trace::TraceReader;

struct ShowArguments {
  std::string trace;
  std::uint64_t points_max = 0;
  TraceReader::OnDamage on_damage = TraceReader::OnDamage::kFail;
};

struct ConvertArguments {
  std::string from;
  std::string names;
  std::string to;
  TraceReader::OnDamage on_damage = TraceReader::OnDamage::kFail;
};

void add_recover(CLI::App& app, TraceReader::OnDamage& on_damage) {
  command::add_flag(app, "--recover", on_damage, TraceReader::OnDamage::kRecover,
                    "Skip damaged blocks");
}

command::Run declare_show(CLI::App& app) {
  const auto arguments = std::make_shared<ShowArguments>();
  command::add_path(app, "TRACE", arguments->trace, "The trace");
  command::add_number(app, "--points", arguments->points_max, {0, 1'000'000},
                      "Add at most this many accesses of each stream");
  add_recover(app, arguments->on_damage);
  return [arguments] {
    const auto loaded = load_trace(arguments->trace, arguments->on_damage);
    return command::make_result(loaded
                                    ? Result<Json>(streams_document(*loaded, arguments->points_max))
                                    : Result<Json>(failure(loaded.error())));
  };
}

command::CommandResult print(const Result<RecordCounts>& counts) {
  return command::make_result(counts.map([](const RecordCounts& found) {
    return Json{{"records", found.records},
                {"sources", found.sources},
                {"files", found.files},
                {"warnings", found.warnings}};
  }));
}

command::Run declare_export(CLI::App& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  command::add_path(app, "TRACE", arguments->from, "The trace");
  command::add_path(app, "RECORDS", arguments->to, "The file to write");
  add_recover(app, arguments->on_damage);
  return [arguments] {
    return print(export_records(arguments->from, arguments->to, arguments->on_damage));
  };
}

command::Run declare_import(CLI::App& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  command::add_path(app, "RECORDS", arguments->from, "The file of records");
  command::add_path(app, "NAMES", arguments->names, "Paths of the files, a JSON array");
  command::add_path(app, "TRACE", arguments->to, "The trace to write");
  return [arguments] {
    return print(import_records(arguments->from, arguments->names, arguments->to));
  };
}

struct SimulateArguments {
  std::string trace;
  std::string pattern;
  push::CacheOptions options;
  bool has_accesses = false;
};

Status check(const SimulateArguments& arguments) {
  const push::CacheOptions& options = arguments.options;
  if (!arguments.trace.empty() && !arguments.pattern.empty())
    return failure(command::usage_error("give a trace or a pattern, not both"));
  const std::uint64_t pages = options.cache_bytes / options.page_bytes;
  if (pages < 1 || pages > push::CacheOptions::kPagesMax)
    return failure(command::usage_error("--cache must be 1 to " +
                                        std::to_string(push::CacheOptions::kPagesMax) + " pages"));
  return {};
}

Result<std::vector<ReadStream>> streams_of(const SimulateArguments& arguments) {
  if (arguments.trace.empty()) return pattern_streams(arguments.pattern);
  const auto loaded = load_trace(arguments.trace, TraceReader::OnDamage::kFail);
  if (!loaded) return failure(loaded.error());
  return read_streams(*loaded);
}

Json accesses_of(const ReadStream& stream) {
  Json accesses = Json::array();
  for (const trace::Access& access : stream.reads)
    accesses.push_back({access.offset, access.size});
  return accesses;
}

Result<Json> simulate(const SimulateArguments& arguments) {
  if (const Status checked = check(arguments); !checked) return failure(checked.error());
  return streams_of(arguments).map([&](const std::vector<ReadStream>& streams) {
    Json document = simulation_document(streams, arguments.options);
    for (std::size_t i = 0; arguments.has_accesses && i < streams.size(); ++i)
      document["streams"][i]["accesses"] = accesses_of(streams[i]);
    return document;
  });
}

command::Run declare_simulate(CLI::App& app) {
  const auto arguments = std::make_shared<SimulateArguments>();
  push::CacheOptions& options = arguments->options;
  command::add_path(app, "TRACE", arguments->trace, "The trace")->required(false);
  command::add_text(app, "--pattern", "NAME", arguments->pattern, "A known pattern of reads");
  command::add_size(app, "--cache", options.cache_bytes, {1, std::uint64_t{1} << 40U},
                    "Size of the cache");
  command::add_size(app, "--page", options.page_bytes, {1, std::uint64_t{1} << 30U},
                    "Size of a page");
  command::add_number(app, "--lookahead", options.lookahead, {1, push::CacheOptions::kLookaheadMax},
                      "Predictions before each read");
  command::add_flag(app, "--accesses", arguments->has_accesses, true,
                    "Add offset and size of each read");
  return [arguments] { return command::make_result(simulate(*arguments)); };
}

const std::array kCommands{
    command::Command{"show", "Print the streams of a trace.", declare_show},
    command::Command{"simulate", "Compare predictors on a trace or on known patterns.",
                     declare_simulate},
    command::Command{"export", "Write the records of a trace to a file.", declare_export},
    command::Command{"import", "Write a trace from a file of records.", declare_import},
};

command::CommandResult run(command::Words words) {
  CLI::App app("Print the streams of traces, compare predictors, and exchange records with files.",
               "forebay-trace");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::trace_tool
