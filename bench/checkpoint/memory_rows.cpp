// SPDX-License-Identifier: Apache-2.0
// Memory of strategies, computed from samples of the memory case.
#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/forebay_rows.hpp"

namespace forebay::bench::checkpoint {

namespace {

using Failure = tl::unexpected<std::string>;

constexpr double kMebibyteAsNumber = 1024.0 * 1024.0;
constexpr std::string_view kBrigade = "forebay:brigade";
constexpr std::string_view kGather = "forebay:gather,whole";

std::vector<double> member_values(const std::vector<TrialResult>& samples,
                                  double TrialResult::* member) {
  std::vector<double> values;
  for (const TrialResult& one : samples)
    values.push_back(one.*member);
  return values;
}

Peer in_mebibytes(std::string name, const std::vector<TrialResult>& samples) {
  std::vector<double> values = member_values(samples, &TrialResult::staging_bytes);
  for (double& value : values)
    value /= kMebibyteAsNumber;
  return {std::move(name), "MiB", summarize(std::move(values))};
}

}  // namespace

tl::expected<ResultRow, std::string> memory_over_plan(const Samples& samples) {
  const std::string case_id(kMemoryCase);
  std::optional<ResultRow> worst;
  std::vector<Peer> peers;
  for (const std::string& name : samples.names(case_id)) {
    if (family_of(name) != kForebayFamily) continue;
    const Summary share =
        summarize(member_values(samples.get(case_id, name), &TrialResult::staging_over_plan));
    peers.push_back({name, "1", share});
    if (worst && share.median <= worst->measured.median) continue;
    worst = ResultRow{"ckpt.memory_over_plan", "1", share, Goal{1.0, Better::kLower}, {}};
  }
  if (!worst) return Failure(case_id + " was not measured");
  worst->peers = std::move(peers);
  return *worst;
}

tl::expected<ResultRow, std::string> brigade_memory(const Samples& samples) {
  const std::string case_id(kMemoryCase);
  const auto& brigade = samples.get(case_id, kBrigade);
  const auto& gather = samples.get(case_id, kGather);
  if (brigade.empty()) return Failure("no candidate named " + std::string(kBrigade));
  if (gather.size() != brigade.size()) return Failure("no candidate named " + std::string(kGather));
  const auto over = [&](double TrialResult::* member) {
    return summarize(ratios(member_values(brigade, member), member_values(gather, member)));
  };
  ResultRow row{"ckpt.brigade_memory", "1", over(&TrialResult::staging_bytes), Goal{0.7}, {}};
  row.peers.push_back({"resident memory", "1", over(&TrialResult::memory_sum_bytes)});
  for (const std::string& name : samples.names(case_id)) {
    const bool is_shown = name.find("brigade") != std::string::npos ||
                          name.find("gather") != std::string::npos || name == "forebay:one-writer";
    if (is_shown)
      row.peers.push_back(in_mebibytes("staging of " + name, samples.get(case_id, name)));
  }
  return row;
}

}  // namespace forebay::bench::checkpoint
