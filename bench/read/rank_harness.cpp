// SPDX-License-Identifier: Apache-2.0
#include "bench/read/rank_harness.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include <malloc.h>
#include <unistd.h>

#include "bench/read/kernels.hpp"
#include "tools/probe/network.hpp"

namespace forebay::bench::read {

namespace {

/// Interval in which an inactive rank polls for a job.
constexpr std::chrono::milliseconds kPollInterval{5};
constexpr comm::Tag kJobTag{1};

/// One clock for all ranks: those on several hosts are in network namespaces of one machine.
double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// From the first rank's start to the last rank's end. A barrier at the end would be part of the
/// time: with eight ranks that spin on two cores, it takes 20 ms.
double elapsed_seconds(const std::vector<double>& began, const std::vector<double>& ended) {
  if (began.empty()) return 0;
  return *std::max_element(ended.begin(), ended.end()) -
         *std::min_element(began.begin(), began.end());
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Empty if the exchange fails.
std::vector<pid_t> processes_on_node(comm::Communicator& ranks) {
  pid_t mine = ::getpid();
  const auto all = ranks.all_gather(bytes_of(mine));
  if (!all) return {};
  std::set<pid_t> processes;  // ranks that are threads share one
  for (const comm::Rank rank : ranks.nodes().ranks_of(ranks.nodes().node_of(ranks.rank()))) {
    pid_t process = 0;
    std::memcpy(&process, (*all)[rank.number].data(), sizeof process);
    processes.insert(process);
  }
  return {processes.begin(), processes.end()};
}

}  // namespace

Job Job::make(Kernel work, const FilePartition& partition, Hints hints) {
  Job job{.kernel = work,
          .hints = hints,
          .file_bytes = partition.file_bytes,
          .task_count = partition.task_count,
          .path = {}};
  const std::string path = partition.path.string();
  std::memcpy(job.path.data(), path.data(), std::min(path.size(), job.path.size() - 1));
  return job;
}

Result<std::unique_ptr<RankHarness>> RankHarness::create(
    const std::shared_ptr<comm::Communicator>& world, std::uint32_t size) {
  const bool is_chosen = world->rank().number < size;
  auto active = world->split({.color = is_chosen ? 0U : 1U, .key = 0});
  if (!active) return failure(active.error());
  return std::unique_ptr<RankHarness>(new RankHarness(world, std::move(*active), size));
}

RankHarness::RankHarness(const std::shared_ptr<comm::Communicator>& world,
                         std::shared_ptr<comm::Communicator> active,
                         std::uint32_t size)
    : size_(size),
      world_team_(world),
      active_team_(std::move(active)),
      processes_of_node_(processes_on_node(active_team_.ranks())) {}

RankHarness::~RankHarness() {
  if (is_root()) static_cast<void>(send_job({.rank_set = RankSet::kAll, .path = {}}));
}

Status RankHarness::send_job(const Job& job) {
  Job copy = job;
  if (job.rank_set == RankSet::kAll) {
    for (std::uint32_t rank = size_; rank < world_team_.ranks().size(); ++rank) {
      Status sent = world_team_.ranks().send(bytes_of(copy), {rank}, kJobTag).wait();
      if (!sent) return sent;
    }
  }
  return active_team_.ranks().broadcast(bytes_of(copy), {0});
}

Result<Job> RankHarness::receive_job() {
  Job job;
  if (is_active()) {
    const Status received = active_team_.ranks().broadcast(bytes_of(job), {0});
    return received.map([&] { return job; });
  }
  comm::MessageRequest job_request = world_team_.ranks().receive(bytes_of(job), {0}, kJobTag);
  while (true) {
    const Result<bool> arrived = job_request.test();
    if (!arrived) return failure(arrived.error());
    if (*arrived) return job;
    std::this_thread::sleep_for(kPollInterval);
  }
}

Result<double> RankHarness::time(const Job& job) {
  return measure(job).map([](const JobResult& measured) { return measured.seconds; });
}

Result<JobResult> RankHarness::measure(const Job& job) {
  if (auto copy = send_job(job); !copy) return failure(copy.error());
  return run_job(job);
}

Status RankHarness::serve() {
  while (true) {
    const Result<Job> job = receive_job();
    if (!job) return failure(job.error());
    if (job->kernel == Kernel::kStop) return {};
    // Failures are agreed on, and rank 0 reports them.
    static_cast<void>(run_job(*job));
  }
}

/// Provides buffers for this rank's tasks, prefaulted; they are kept for later jobs.
Status RankHarness::prepare_memory(const Job& job) {
  const std::uint64_t needed_bytes =
      has_task_buffers(job.kernel) ? share_of(job, ranks(job.rank_set)).size : 0;
  if (memory_bytes_ >= needed_bytes && !is_bare(job.kernel)) return {};
  memory_.reset();
  memory_bytes_ = 0;
  if (needed_bytes > 0) {
    auto made = PrefaultedMemory::make(needed_bytes);
    if (!made) return failure(made.error());
    memory_ = std::move(*made);
    memory_bytes_ = needed_bytes;
  }
  if (!is_bare(job.kernel)) return {};
  team_of(job.rank_set).end_runtime();
  ::malloc_trim(0);
  return {};
}

Result<JobResult> RankHarness::run_job(const Job& job) {
  const Status provided = prepare_memory(job);
  RuntimeTeam& team = team_of(job.rank_set);
  comm::Communicator& ranks = team.ranks();
  if (auto agreed = ranks.agree(provided); !agreed) return failure(agreed.error());
  KernelContext context{.team = team,
                        .ranks = ranks,
                        .memory = memory_ ? memory_->bytes() : std::span<std::byte>(),
                        .job = job};
  std::unique_ptr<PreparedRun> work;
  const Status ready = [&]() -> Status {
    auto made = prepare_kernel(context);
    if (!made) return failure(made.error());
    work = std::move(*made);
    return {};
  }();
  if (auto agreed = ranks.agree(ready); !agreed) return failure(agreed.error());
  if (auto synchronized = ranks.barrier(); !synchronized) return failure(synchronized.error());
  const std::uint64_t before_bytes = probe::host_received_bytes();
  const double began = now_seconds();
  const Status done = work->run();
  const double ended = now_seconds();
  if (auto synchronized = ranks.barrier(); !synchronized) return failure(synchronized.error());
  const std::uint64_t transferred_bytes = probe::host_received_bytes() - before_bytes;
  if (auto agreed = ranks.agree(done); !agreed) return failure(agreed.error());
  const auto all_began = gather_values(job, began);
  if (!all_began) return failure(all_began.error());
  const auto all_ended = gather_values(job, ended);
  if (!all_ended) return failure(all_ended.error());
  auto found = gather_values(job, work->rank_result());
  if (!found) return failure(found.error());
  auto received = gather_values(job, static_cast<double>(transferred_bytes));
  if (!received) return failure(received.error());
  return JobResult{.seconds = elapsed_seconds(*all_began, *all_ended),
                   .rank_results = std::move(*found),
                   .received_bytes = std::move(*received)};
}

/// By rank, on the first rank; empty on others.
Result<std::vector<double>> RankHarness::gather_values(const Job& job, double mine) {
  const auto gathered = ranks(job.rank_set).gather(bytes_of(mine), {0});
  if (!gathered) return failure(gathered.error());
  std::vector<double> by_rank(gathered->size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    std::memcpy(&by_rank[rank], (*gathered)[rank].data(), sizeof(double));
  return by_rank;
}

}  // namespace forebay::bench::read
