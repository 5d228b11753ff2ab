// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_commands.hpp"

#include <algorithm>
#include <thread>

#include "cube/compression.hpp"

namespace forebay::cube {

namespace {

constexpr command::Bounds kThreads{1, 256};
constexpr command::Bounds kLevels{kCompressionLevelMin, kCompressionLevelMax};
/// From a row of a few locations to more than the memory of any machine.
constexpr command::Bounds kMemory{1ULL << 20U, 1ULL << 44U};

}  // namespace

void add_compression(CLI::App& app, std::optional<int>& level) {
  const auto compress = [&level] { level = level.value_or(kCompressionLevelDefault); };
  CLI::Option* const flag = command::add_flag(app, "--compress", compress, "Compress rows (zlib)");
  command::add_number(app, "--level", level, kLevels, "Compression level [6]")->needs(flag);
}

void add_remap(CLI::App& app, RemapOptions& options) {
  RemapSelection& selection = options.selection;
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  options.threads = static_cast<unsigned>(std::min(cores, kThreads.max));
  command::add_path(app, "FILE", options.input, "The profile");
  command::add_text(app, "--output", "FILE", options.output, "The new profile")->required();
  CLI::Option* const specification = command::add_text(app, "--spec", "FILE", options.specification,
                                                       "Specification [the one in FILE]");
  command::add_flag(app, "--no-spec", options.should_ignore_embedded, true,
                    "Ignore the specification in FILE")
      ->excludes(specification);
  command::add_names(app, "--select", selection.select, "Write only these metrics");
  command::add_names(app, "--inclusive", selection.inclusive, "Store these with all below");
  command::add_names(app, "--exclusive", selection.exclusive, "Store these without those below");
  add_compression(app, options.compression_level);
  command::add_number(app, "--threads", options.threads, kThreads, "Threads to use");
  command::add_size(app, "--memory", options.cache_bytes, kMemory,
                    "Memory for input rows that are used again [128MiB]");
  command::add_progress(app, options.progress);
}

Result<Json> run_remap(const RemapOptions& options, WriterComm& comm) {
  const RemapSelection& selection = options.selection;
  for (const std::string& name : selection.inclusive) {
    if (std::ranges::find(selection.exclusive, name) == selection.exclusive.end()) continue;
    return failure(
        command::usage_error(name + " cannot be written both --inclusive and --exclusive"));
  }
  return remap(options, comm);
}

}  // namespace forebay::cube
