// SPDX-License-Identifier: Apache-2.0
// A profile in memory, for tests and the fuzzer.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cube/cubepl/profile_view.hpp"

namespace forebay::cubepl::testing {

/// Exclusive values by metric and call path; missing ones are 0. Inclusive values are their sums.
class MemoryProfile : public ProfileView {
 public:
  ProfileInfo profile_info;

  const ProfileInfo& info() const override { return profile_info; }

  Result<std::span<const double>> row(const InputRow& which) override {
    ++row_count;
    held_rows_max = std::max(held_rows_max, ++held_rows);
    if (is_broken) return failure({.kind = ErrorClass::kIo, .operation = "read", .path = "broken"});
    if (which.flavor == Flavor::kExclusive) return exclusive(which.metric, which.callpath);
    auto& sum = inclusive_[{which.metric, which.callpath}];
    sum.assign(profile_info.locations.size(), 0);
    add_below(which.metric, which.callpath, sum);
    return std::span<const double>(sum);
  }

  void set(std::size_t metric, std::size_t callpath, std::vector<double> values) {
    rows_[{metric, callpath}] = std::move(values);
  }

  std::size_t add_metric(const std::string& name) {
    profile_info.metrics.push_back({.unique_name = name});
    return profile_info.metrics.size() - 1;
  }
  std::size_t add_callpath(std::size_t region, std::optional<std::size_t> parent = {}) {
    profile_info.callpaths.push_back({.region = region, .parent = parent});
    return profile_info.callpaths.size() - 1;
  }
  std::size_t add_region(const std::string& name, const std::string& paradigm) {
    profile_info.regions.push_back({.name = name, .paradigm = paradigm});
    return profile_info.regions.size() - 1;
  }
  void add_locations(std::size_t count) {
    profile_info.system_nodes.push_back({.name = "machine", .node_class = "machine"});
    profile_info.location_groups.push_back({.name = "MPI Rank 0", .type = "process"});
    for (std::size_t i = 0; i < count; ++i)
      profile_info.locations.push_back({.name = fmt::format("thread {}", i),
                                        .rank = static_cast<std::int64_t>(i),
                                        .type = "thread"});
  }

  void release_rows() override { held_rows = 0; }

  int row_count = 0;       ///< calls of row()
  int held_rows = 0;       ///< since release_rows()
  int held_rows_max = 0;   ///< the maximum of held_rows
  bool is_broken = false;  ///< row() fails

 private:
  std::span<const double> exclusive(std::size_t metric, std::size_t callpath) const {
    const auto found = rows_.find({metric, callpath});
    return found == rows_.end() ? std::span<const double>() : std::span(found->second);
  }
  void add_below(std::size_t metric, std::size_t callpath, std::vector<double>& sum) const {
    const auto own = exclusive(metric, callpath);
    for (std::size_t i = 0; i < own.size(); ++i)
      sum[i] += own[i];
    for (std::size_t c = 0; c < profile_info.callpaths.size(); ++c)
      if (profile_info.callpaths[c].parent == callpath) add_below(metric, c, sum);
  }

  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> rows_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> inclusive_;
};

/// main calls MPI_Send, compute and, below compute, MPI_Barrier; three threads; time and visits.
inline std::unique_ptr<MemoryProfile> small_profile() {
  auto made = std::make_unique<MemoryProfile>();
  MemoryProfile& profile = *made;
  profile.profile_info.filename = "small.cubex";
  const std::size_t main = profile.add_region("main", "user");
  const std::size_t send = profile.add_region("MPI_Send", "mpi");
  const std::size_t compute = profile.add_region("compute", "compiler");
  const std::size_t barrier = profile.add_region("MPI_Barrier", "mpi");
  profile.profile_info.regions[send].role = "point2point";
  profile.profile_info.regions[barrier].role = "barrier";
  profile.profile_info.regions[compute].module = "solver.c";
  profile.add_callpath(main);        // 0
  profile.add_callpath(send, 0);     // 1
  profile.add_callpath(compute, 0);  // 2
  profile.add_callpath(barrier, 2);  // 3
  profile.add_locations(3);
  const std::size_t time = profile.add_metric("time");
  const std::size_t visits = profile.add_metric("visits");
  profile.set(time, 0, {1, 2, 3});
  profile.set(time, 1, {10, 20, 30});
  profile.set(time, 2, {100, 200, 300});
  profile.set(time, 3, {0.5, 0, 0.25});
  profile.set(visits, 0, {1, 1, 1});
  profile.set(visits, 1, {4, 0, 2});
  profile.set(visits, 3, {2, 2, 0});
  return made;
}

}  // namespace forebay::cubepl::testing
