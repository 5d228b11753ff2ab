// SPDX-License-Identifier: Apache-2.0
// bench tasks: one file from a cold disk, cut into a growing number of tasks: the time with naive
// tasks and with a session, and the progress of a computation on the same threads meanwhile. On
// several ranks, or in one process without MPI.
#include <algorithm>
#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kComputeOnlyMs = 100;
constexpr const char* kComputeOnly = "computing alone";
constexpr unsigned kRounds = 5;

/// The rate of all ranks together, in slices a second.
double sum_of(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// The computation without other work.
Variant compute_only(const FilePartition& partition) {
  Job job = Job::make(Kernel::kComputing, partition);
  job.pause_ms = kComputeOnlyMs;
  return {kComputeOnly, {}, [job] {
            return rank_harness().measure(job).map(
                [](const JobResult& measured) { return sum_of(measured.rank_results); });
          }};
}

/// Reading with the computation in the background.
class OverlapRun {
 public:
  explicit OverlapRun(Kernel kernel, const FilePartition& partition)
      : job_(Job::make(kernel, partition)) {}

  /// Returns the computing rate.
  Result<double> measure() {
    return rank_harness().measure(job_).map([this](const JobResult& measured) {
      seconds_.push_back(measured.seconds);
      return sum_of(measured.rank_results);
    });
  }

  /// Seconds of the readers in the order of rounds, without warm-up rounds.
  std::vector<double> seconds() const { return {seconds_.end() - kRounds, seconds_.end()}; }

 private:
  Job job_;
  std::vector<double> seconds_;
};

/// One number of tasks: its variants and rows.
class Point {
 public:
  Point(Context& context, const FilePartition& partition)
      : partition_(partition),
        id_("tasks." + std::to_string(partition.task_count)),
        share_id_(id_ + ".computing"),
        is_time_selected_(context.is_selected(id_)),
        is_share_selected_(context.is_selected(share_id_)) {}

  void add_variants(std::vector<Variant>& variants) {
    if (is_time_selected_) {
      variants.push_back(time("forebay", Kernel::kSession));
      variants.push_back(time("naive", Kernel::kNaive));
    }
    if (!is_share_selected_) return;
    variants.push_back(share("forebay", ours_));
    variants.push_back(share("naive", theirs_));
  }

  void add_rows(Context& context, const Rounds& rounds) const {
    if (is_time_selected_) {
      const auto ours = id_ + ", forebay";
      const auto theirs = id_ + ", naive";
      context.add({.id = id_,
                   .unit = "1",
                   .measured = rounds.ratio(ours, theirs),
                   .goal = {},
                   .peers = {{"forebay", "s", rounds.summary(ours)},
                             {"naive", "s", rounds.summary(theirs)}}});
    }
    if (!is_share_selected_) return;
    std::vector<Peer> peers = {{"naive", "1", compute_share(rounds, ", naive")},
                               {"time of forebay", "s", summarize(ours_.seconds())},
                               {"time of naive", "s", summarize(theirs_.seconds())}};
    if (is_time_selected_) {
      const auto& without = rounds.values(id_ + ", forebay");
      peers.push_back({"time over that without", "1", summarize(ratios(ours_.seconds(), without))});
    }
    context.add({.id = share_id_,
                 .unit = "1",
                 .measured = compute_share(rounds, ", forebay"),
                 .goal = {},
                 .peers = std::move(peers)});
  }

 private:
  /// Relative to the fastest computation alone: slower ones were disturbed.
  Summary compute_share(const Rounds& rounds, const char* name) const {
    const std::vector<double>& alone = rounds.values(kComputeOnly);
    std::vector<double> shares = rounds.values(share_id_ + name);
    for (double& share : shares)
      share /= *std::max_element(alone.begin(), alone.end());
    return summarize(shares);
  }
  Variant time(const std::string& name, Kernel kernel) const {
    return job_variant(id_ + ", " + name, Job::make(kernel, partition_), cold(partition_.path));
  }
  Variant share(const std::string& name, OverlapRun& overlap) const {
    return {share_id_ + ", " + name, cold(partition_.path),
            [&overlap] { return overlap.measure(); }};
  }

  FilePartition partition_;
  std::string id_;
  std::string share_id_;
  bool is_time_selected_;
  bool is_share_selected_;
  OverlapRun ours_{Kernel::kSessionComputing, partition_};
  OverlapRun theirs_{Kernel::kNaiveComputing, partition_};
};

}  // namespace

FOREBAY_BENCHMARK(tasks, "time by number of tasks, and the computation meanwhile") {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 32_MiB, .usual = 256_MiB, .full = 1_GiB});
  context.set_parameter("ranks", rank_harness().ranks().size());
  context.set_parameter("file_bytes", file_bytes);
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  std::list<Point> points;  // variants refer to them
  std::vector<Variant> variants;
  for (const std::uint64_t count : kTaskCounts) {
    points.emplace_back(context, FilePartition{*path, file_bytes, count});
    points.back().add_variants(variants);
  }
  if (variants.empty()) return {};
  variants.push_back(compute_only({*path, file_bytes, 1}));
  // All in the same rounds: drift, as of disks, affects each number of tasks alike.
  const auto rounds = context.run("tasks", kRounds, variants);
  if (!rounds) return failure(rounds.error());
  for (const Point& point : points)
    point.add_rows(context, *rounds);
  return {};
}

}  // namespace forebay::bench::read
