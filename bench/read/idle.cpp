// SPDX-License-Identifier: Apache-2.0
// read.idle_cpu: what agents cost while nobody wants anything. All ranks open sessions of both
// kinds and then sleep, main threads too: a rank that waited in MPI would burn a core and hide
// agents. Counted are the threads that Forebay started, by name, with the kernel's workers for
// them; the sum over the ranks of a node, and of several nodes the worst.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/frame/clock.hpp"
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "bench/read/works.hpp"

namespace forebay::bench::read {

namespace {

/// What agents read ahead is read by then.
constexpr std::chrono::milliseconds kSettling{500};

/// Forebay's service threads, and those of the kernel that work for an io_uring. Threads that have
/// the name of the program, which begins alike, are its own or MPI's.
std::vector<ThreadTime> agents_threads() {
  std::vector<ThreadTime> threads = thread_times();
  const std::string program = threads.front().name;  // the main thread has the lowest number
  std::erase_if(threads, [&](const ThreadTime& thread) {
    const bool is_service = thread.name.starts_with("forebay-") && thread.name != program;
    return !is_service && !thread.name.starts_with("iou-");
  });
  return threads;
}

double agents_cpu_seconds() {
  double seconds = 0;
  for (const ThreadTime& thread : agents_threads())
    seconds += thread.cpu_seconds;
  return seconds;
}

/// Sleeps with open sessions.
class Idling final : public Performance {
 public:
  Idling(const WorkSite& site, std::vector<Session> sessions)
      : sessions_(std::move(sessions)),
        pause_(site.job.pause_ms),
        leads_(site.ranks.rank().number == 0) {}

  Status run() override {
    std::this_thread::sleep_for(kSettling);
    const double before_seconds = agents_cpu_seconds();
    // They have read ahead by now. On other ranks there need not be any: agents may work for a
    // whole node.
    if (leads_ && before_seconds == 0) {
      return failure({.kind = ErrorClass::kUnsupported,
                      .operation = "time idle agents",
                      .cause = "no thread of this process that did anything has an agent's name"});
    }
    const Stopwatch watch;
    std::this_thread::sleep_for(pause_);
    share_ = (agents_cpu_seconds() - before_seconds) / watch.seconds();
    return {};
  }
  double found() const override { return share_; }

 private:
  std::vector<Session> sessions_;
  std::chrono::milliseconds pause_;
  bool leads_;
  double share_ = 0;
};

/// Each rank's share of a core, added up for each node; the node that uses most.
double worst_node(const std::vector<double>& by_rank, const comm::Nodes& nodes) {
  std::vector<double> by_node(nodes.count());
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank)
    by_node[nodes.node_of({rank}).number] += by_rank[rank];
  return *std::max_element(by_node.begin(), by_node.end());
}

}  // namespace

Result<std::unique_ptr<Performance>> prepare_idling(const WorkSite& site, const File& file) {
  std::vector<Session> sessions;
  // One of each kind, read ahead as far as they go, with something left to do when somebody takes
  // data. The last is read by the first node alone, so that agents of others wait for it.
  const std::array<ReadPlan, 3> plans{ReadPlan{.access = Access::kBuffered, .budget_bytes = 16_MiB},
                                      ReadPlan{.access = Access::kDirect, .budget_bytes = 16_MiB},
                                      ReadPlan{.budget_bytes = 16_MiB, .agent_nodes = {0}}};
  for (const ReadPlan& plan : plans) {
    auto session = file.read_session({}, plan);
    if (!session) return failure(session.error());
    sessions.push_back(std::move(*session));
  }
  return std::make_unique<Idling>(site, std::move(sessions));
}

Status bench_idle(Context& context) {
  const std::string id = "read.idle_cpu";
  if (!context.wants(id)) return {};
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  Job job = Job::of(Work::kIdle, *cut);
  job.pause_ms = context.choose<std::uint64_t>(2000, 500);
  const auto idle = [&]() -> Result<double> {
    return the_crew().measure(job).map([](const Measured& measured) {
      return worst_node(measured.found, the_crew().ranks().nodes());
    });
  };
  const auto rounds = context.run(id, 5, {{"idle", {}, idle}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "cores",
               .measured = rounds->summary("idle"),
               .goal = Goal{0.001},
               .peers = {}});
  return {};
}

}  // namespace forebay::bench::read
