// SPDX-License-Identifier: Apache-2.0
// What strategies take of memory, from samples that others have taken.
#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/own_rows.hpp"

namespace forebay::bench::checkpoint {

namespace {

using Failure = tl::unexpected<std::string>;

constexpr double kMebibyteAsNumber = 1024.0 * 1024.0;
constexpr std::string_view kBrigade = "forebay:brigade";
constexpr std::string_view kGather = "forebay:gather,whole";

std::vector<double> each(const std::vector<Measured>& samples, double Measured::* member) {
  std::vector<double> values;
  for (const Measured& one : samples)
    values.push_back(one.*member);
  return values;
}

Peer in_mebibytes(std::string name, const std::vector<Measured>& samples) {
  std::vector<double> values = each(samples, &Measured::staging_bytes);
  for (double& value : values)
    value /= kMebibyteAsNumber;
  return {std::move(name), "MiB", summarise(std::move(values))};
}

}  // namespace

tl::expected<ResultRow, std::string> memory_over_plan(const Samples& samples) {
  const std::string in(kMemoryCase);
  std::optional<ResultRow> worst;
  std::vector<Peer> peers;
  for (const std::string& name : samples.names(in)) {
    if (family_of(name) != kOurs) continue;
    const Summary share = summarise(each(samples.of(in, name), &Measured::staging_over_plan));
    peers.push_back({name, "1", share});
    if (worst && share.median <= worst->measured.median) continue;
    worst = ResultRow{"ckpt.memory_over_plan", "1", share, Goal{1.0, Better::kLower}, {}};
  }
  if (!worst) return Failure(in + " was not measured");
  worst->peers = std::move(peers);
  return *worst;
}

tl::expected<ResultRow, std::string> brigade_memory(const Samples& samples) {
  const std::string in(kMemoryCase);
  const auto& brigade = samples.of(in, kBrigade);
  const auto& gather = samples.of(in, kGather);
  if (brigade.empty()) return Failure("no contender named " + std::string(kBrigade));
  if (gather.size() != brigade.size()) return Failure("no contender named " + std::string(kGather));
  const auto over = [&](double Measured::* member) {
    return summarise(ratios(each(brigade, member), each(gather, member)));
  };
  ResultRow row{"ckpt.brigade_memory", "1", over(&Measured::staging_bytes), Goal{0.7}, {}};
  row.peers.push_back({"resident memory", "1", over(&Measured::memory_sum_bytes)});
  for (const std::string& name : samples.names(in)) {
    const bool is_shown = name.find("brigade") != std::string::npos ||
                          name.find("gather") != std::string::npos || name == "forebay:one-writer";
    if (is_shown) row.peers.push_back(in_mebibytes("staging of " + name, samples.of(in, name)));
  }
  return row;
}

}  // namespace forebay::bench::checkpoint
