// SPDX-License-Identifier: Apache-2.0
#include "tools/study/arguments.hpp"

#include <array>
#include <string>

namespace forebay::study {
namespace {

using command::add_number;

constexpr std::uint64_t kWordBytes = 8;
constexpr std::array kSimulated{
    Strategy::kSerial,          Strategy::kFilePerProcess, Strategy::kBaton, Strategy::kCollective,
    Strategy::kReducedBlocking, Strategy::kBrigade,        Strategy::kGather};

void add_strategies(CLI::App& app, std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  for (const Strategy strategy : kSimulated)
    names.emplace_back(name_of(strategy));
  const auto parse_all = [&strategies, names](const std::vector<std::string>& values) {
    strategies.clear();
    for (const std::string& value : values)
      strategies.push_back(kSimulated.at(command::find_choice("--strategy", value, names)));
  };
  strategies.assign(kSimulated.begin(), kSimulated.end());
  command::add_values(app, "--strategy", "NAME", parse_all, "Strategy; may be repeated [all]");
}

}  // namespace

void add_checkpoint(CLI::App& app, StudyRequest& request) {
  Checkpoint& checkpoint = request.checkpoint;
  const auto set_machines = [&request](const auto& names) { request.machines = names; };
  command::add_values(app, "--machine", "NAME|FILE", set_machines, "Machine; may be repeated")
      ->required();
  const auto parse_bytes = [&checkpoint](const std::string& value) {
    const std::string name = "--bytes-per-rank";
    checkpoint.bytes_per_rank = command::parse_number(name, value, {kWordBytes, kBytesPerRankMax});
    if (checkpoint.bytes_per_rank % kWordBytes != 0)
      command::reject(name + " must be a multiple of 8");
  };
  command::add_value(app, "--bytes-per-rank", "N", parse_bytes, "Bytes of a rank, on average")
      ->required();
  add_number(app, "--ranks", checkpoint.ranks, {1, kRanksMax}, "Ranks");
  add_number(app, "--nodes", checkpoint.nodes, {1, kRanksMax}, "Nodes [clients of the machine]")
      ->default_str("");
  command::add_choice<SizeDistribution>(
      app, "--sizes", checkpoint.sizes,
      {{"equal", SizeDistribution::kEqual}, {"exponential", SizeDistribution::kExponential}},
      "Distribution of the bytes over ranks [equal]");
  add_strategies(app, checkpoint.strategies);
  command::add_progress(app, request.progress_mode);
}

}  // namespace forebay::study
