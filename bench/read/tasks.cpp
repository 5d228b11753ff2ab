// SPDX-License-Identifier: Apache-2.0
// bench tasks: one file from a cold disk, cut into more and more tasks: how long it takes if each
// reads for itself, and through a session, and how much of a computation goes on meanwhile on the
// same threads. On several ranks, or in one process where there is no MPI.
#include <array>
#include <numeric>

#include "bench/frame/benchmark.hpp"
#include "bench/read/crew.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::array<std::uint64_t, 5> kTaskCounts{2, 32, 512, 8192, 16384};
constexpr std::uint64_t kAloneMs = 50;
constexpr unsigned kRounds = 5;

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Reading with a computation in the background.
class Sharing {
 public:
  explicit Sharing(Work work, const Cut& cut) : job_(Job::of(work, cut)) {}

  /// What the computation reaches of what it does alone.
  Result<double> measure() {
    Job alone_job = Job::of(Work::kComputing, job_.cut());
    alone_job.pause_ms = kAloneMs;
    const auto alone = the_crew().measure(alone_job);
    if (!alone) return tl::unexpected<Error>(alone.error());
    const auto beside = the_crew().measure(job_);
    if (!beside) return tl::unexpected<Error>(beside.error());
    seconds_.push_back(beside->seconds);
    return sum_of(beside->found) / sum_of(alone->found);
  }

  /// Of the last so many measurements.
  Summary seconds(std::size_t runs) const {
    return summarise({seconds_.end() - static_cast<std::ptrdiff_t>(runs), seconds_.end()});
  }

 private:
  Job job_;
  std::vector<double> seconds_;
};

/// The rows of one number of tasks.
Status bench_count(Context& context, const Cut& cut) {
  const std::string id = "tasks." + std::to_string(cut.task_count);
  const std::string share_id = id + ".computing";
  const bool wants_time = context.wants(id);
  const bool wants_share = context.wants(share_id);
  const auto cold = [&] { return probe::drop_cached(cut.path); };
  const auto time = [&](const char* name, Work work) {
    return Variant{name, cold, [&cut, work] { return the_crew().time(Job::of(work, cut)); }};
  };
  Sharing ours(Work::kSessionComputing, cut);
  Sharing theirs(Work::kNaiveComputing, cut);
  std::vector<Variant> variants;
  if (wants_time) {
    variants.push_back(time("forebay", Work::kSession));
    variants.push_back(time("naive", Work::kNaive));
  }
  if (wants_share) {
    variants.push_back({"forebay, computing", cold, [&] { return ours.measure(); }});
    variants.push_back({"naive, computing", cold, [&] { return theirs.measure(); }});
  }
  if (variants.empty()) return {};
  const auto rounds = context.run(id, kRounds, variants);
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  if (wants_time) {
    context.add({.id = id,
                 .unit = "1",
                 .measured = rounds->ratio("forebay", "naive"),
                 .goal = {},
                 .peers = {{"forebay", "s", rounds->summary("forebay")},
                           {"naive", "s", rounds->summary("naive")}}});
  }
  if (wants_share) {
    context.add({.id = share_id,
                 .unit = "1",
                 .measured = rounds->summary("forebay, computing"),
                 .goal = {},
                 .peers = {{"naive", "1", rounds->summary("naive, computing")},
                           {"time of forebay", "s", ours.seconds(kRounds)},
                           {"time of naive", "s", theirs.seconds(kRounds)}}});
  }
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(tasks, "time against the number of tasks, and what is computed meanwhile") {
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 32_MiB, .usual = 256_MiB, .full = 1_GiB});
  context.set_parameter("ranks", the_crew().ranks().size());
  context.set_parameter("file_bytes", file_bytes);
  auto path = context.word_file(file_bytes);
  if (!path) return tl::unexpected<Error>(path.error());
  for (const std::uint64_t count : kTaskCounts) {
    const Cut cut{.path = *path, .file_bytes = file_bytes, .task_count = count};
    if (auto done = bench_count(context, cut); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::read
