// SPDX-License-Identifier: Apache-2.0
// bench tasks: one file from a cold disk, cut into more and more tasks: how long it takes if each
// reads for itself, and through a session, and how much of a computation goes on meanwhile on the
// same threads. On several ranks, or in one process where there is no MPI.
#include <algorithm>
#include <functional>
#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kAloneMs = 100;
constexpr const char* kAlone = "computing alone";
constexpr unsigned kRounds = 5;

/// How much the ranks compute together, in slices a second.
double sum_of(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// The computation with nothing beside it.
Variant alone(const Cut& cut) {
  Job job = Job::of(Work::kComputing, cut);
  job.pause_ms = kAloneMs;
  return {kAlone, {}, [job] {
            return the_crew().measure(job).map(
                [](const Measured& measured) { return sum_of(measured.found); });
          }};
}

/// Reading with the computation in the background.
class Sharing {
 public:
  explicit Sharing(Work work, const Cut& cut) : job_(Job::of(work, cut)) {}

  /// How much is computed.
  Result<double> measure() {
    return the_crew().measure(job_).map([this](const Measured& measured) {
      seconds_.push_back(measured.seconds);
      return sum_of(measured.found);
    });
  }

  /// What readers took, in the order of rounds, without those of warming up.
  std::vector<double> seconds() const { return {seconds_.end() - kRounds, seconds_.end()}; }

 private:
  Job job_;
  std::vector<double> seconds_;
};

/// One number of tasks: what is measured, and the rows it gives.
class Point {
 public:
  Point(Context& context, const Cut& cut)
      : cut_(cut),
        id_("tasks." + std::to_string(cut.task_count)),
        share_id_(id_ + ".computing"),
        wants_time_(context.wants(id_)),
        wants_share_(context.wants(share_id_)) {}

  void add_variants(std::vector<Variant>& variants) {
    if (wants_time_) {
      variants.push_back(time("forebay", Work::kSession));
      variants.push_back(time("naive", Work::kNaive));
    }
    if (!wants_share_) return;
    variants.push_back(share("forebay", ours_));
    variants.push_back(share("naive", theirs_));
  }

  void add_rows(Context& context, const Rounds& rounds) const {
    if (wants_time_) {
      const auto ours = id_ + ", forebay";
      const auto theirs = id_ + ", naive";
      context.add({.id = id_,
                   .unit = "1",
                   .measured = rounds.ratio(ours, theirs),
                   .goal = {},
                   .peers = {{"forebay", "s", rounds.summary(ours)},
                             {"naive", "s", rounds.summary(theirs)}}});
    }
    if (!wants_share_) return;
    std::vector<Peer> peers = {{"naive", "1", share_of_alone(rounds, ", naive")},
                               {"time of forebay", "s", summarise(ours_.seconds())},
                               {"time of naive", "s", summarise(theirs_.seconds())}};
    if (wants_time_) {
      const auto& without = rounds.values(id_ + ", forebay");
      peers.push_back({"time over that without", "1", summarise(ratios(ours_.seconds(), without))});
    }
    context.add({.id = share_id_,
                 .unit = "1",
                 .measured = share_of_alone(rounds, ", forebay"),
                 .goal = {},
                 .peers = std::move(peers)});
  }

 private:
  /// Of the fastest that was seen: any other was disturbed by somebody.
  Summary share_of_alone(const Rounds& rounds, const char* name) const {
    const std::vector<double>& alone = rounds.values(kAlone);
    std::vector<double> shares = rounds.values(share_id_ + name);
    for (double& share : shares)
      share /= *std::max_element(alone.begin(), alone.end());
    return summarise(shares);
  }
  Variant time(const std::string& name, Work work) const {
    return {id_ + ", " + name, cold(),
            [job = Job::of(work, cut_)] { return the_crew().time(job); }};
  }
  Variant share(const std::string& name, Sharing& sharing) const {
    return {share_id_ + ", " + name, cold(), [&sharing] { return sharing.measure(); }};
  }
  std::function<Status()> cold() const {
    return [path = cut_.path] { return probe::drop_cached(path); };
  }

  Cut cut_;
  std::string id_;
  std::string share_id_;
  bool wants_time_;
  bool wants_share_;
  Sharing ours_{Work::kSessionComputing, cut_};
  Sharing theirs_{Work::kNaiveComputing, cut_};
};

}  // namespace

FOREBAY_BENCHMARK(tasks, "time against the number of tasks, and what is computed meanwhile") {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 32_MiB, .usual = 256_MiB, .full = 1_GiB});
  context.set_parameter("ranks", the_crew().ranks().size());
  context.set_parameter("file_bytes", file_bytes);
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  std::list<Point> points;  // variants refer to them
  std::vector<Variant> variants;
  for (const std::uint64_t count : kTaskCounts) {
    points.emplace_back(context, Cut{*path, file_bytes, count});
    points.back().add_variants(variants);
  }
  if (variants.empty()) return {};
  variants.push_back(alone({*path, file_bytes, 1}));
  // All in the same rounds: what drifts, as disks do, hits each number of tasks alike.
  const auto rounds = context.run("tasks", kRounds, variants);
  if (!rounds) return failure(rounds.error());
  for (const Point& point : points)
    point.add_rows(context, *rounds);
  return {};
}

}  // namespace forebay::bench::read
