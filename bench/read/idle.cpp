// SPDX-License-Identifier: Apache-2.0
// read.idle_cpu: cost of idle agents. All ranks open sessions of all kinds and then sleep,
// including main threads: a rank that waited in MPI would use a core and hide agents. Counts the
// threads that Forebay started, by name, and the kernel's workers for them: the sum over the ranks
// of a node, and the worst of several nodes.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/frame/clock.hpp"
#include "bench/read/kernels.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

/// Readahead of agents is complete by then.
constexpr std::chrono::milliseconds kSettleTime{500};

/// Forebay's service threads, and kernel threads of io_uring. Threads with the name of the program,
/// which has the same prefix, belong to the program or to MPI.
std::vector<ThreadTime> agent_threads() {
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
  for (const ThreadTime& thread : agent_threads())
    seconds += thread.cpu_seconds;
  return seconds;
}

/// Sleeps with open sessions.
class IdleRun final : public PreparedRun {
 public:
  IdleRun(const KernelContext& kernel, std::vector<Session> sessions)
      : sessions_(std::move(sessions)),
        pause_(kernel.job.pause_ms),
        is_root_(kernel.ranks.rank().number == 0) {}

  Status run() override {
    std::this_thread::sleep_for(kSettleTime);
    const double before_seconds = agents_cpu_seconds();
    // Agents have read ahead by now. Other ranks may have none, because agents may serve a whole
    // node.
    if (is_root_ && before_seconds == 0) {
      return failure(
          {.kind = ErrorClass::kUnsupported,
           .operation = "time idle agents",
           .cause = "no thread of this process with an agent's name has used processor time"});
    }
    const Stopwatch watch;
    std::this_thread::sleep_for(pause_);
    share_ = (agents_cpu_seconds() - before_seconds) / watch.seconds();
    return {};
  }
  double rank_result() const override { return share_; }

 private:
  std::vector<Session> sessions_;
  std::chrono::milliseconds pause_;
  bool is_root_;
  double share_ = 0;
};

/// Sums each rank's fraction of a core by node, and returns the largest sum.
double worst_node(const std::vector<double>& by_rank, const comm::Nodes& nodes) {
  std::vector<double> by_node(nodes.count());
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank)
    by_node[nodes.node_of({rank}).number] += by_rank[rank];
  return *std::max_element(by_node.begin(), by_node.end());
}

}  // namespace

Result<std::unique_ptr<PreparedRun>> prepare_idle(const KernelContext& kernel, const File& file) {
  std::vector<Session> sessions;
  // One session of each kind, after readahead is complete. Taking data would give them more work.
  // The last session is read by the first node alone, so that agents of other nodes wait for it.
  const std::array<ReadPlan, 3> plans{
      ReadPlan{.access = Access::kBuffered, .budget_bytes = 16_MiB},
      ReadPlan{.access = Access::kDirect, .budget_bytes = 16_MiB},
      ReadPlan{.budget_bytes = 16_MiB, .tuning = {.agent_nodes = {0}}}};
  for (const ReadPlan& plan : plans) {
    auto session = file.read_session({}, plan);
    if (!session) return failure(session.error());
    sessions.push_back(std::move(*session));
  }
  return std::make_unique<IdleRun>(kernel, std::move(sessions));
}

Status bench_idle(Context& context) {
  const FilePartition partition = large_partition(context);
  Job job = Job::make(Kernel::kIdle, partition);
  job.pause_ms = context.choose<std::uint64_t>(2000, 500);
  const auto idle = [&]() -> Result<double> {
    return rank_harness().measure(job).map([](const JobResult& measured) {
      return worst_node(measured.rank_results, rank_harness().ranks().nodes());
    });
  };
  return context.compare({.rows = {{"read.idle_cpu", value_of("idle"), Goal{0.001}, "cores"}},
                          .variants = {{"idle", {}, idle}},
                          .peers = std::vector<std::string>{}});
}

}  // namespace forebay::bench::read
