// SPDX-License-Identifier: Apache-2.0
#include "bench/read/crew.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include <malloc.h>
#include <unistd.h>

#include "bench/read/works.hpp"
#include "tools/probe/network.hpp"

namespace forebay::bench::read {

namespace {

/// How often a rank that is not needed looks whether it is.
constexpr std::chrono::milliseconds kNap{5};
constexpr comm::Tag kOrders{1};

/// Of one clock for all ranks: those on several hosts are in network namespaces of one machine.
double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// From the first rank that began to the last that ended. A barrier at the end would be measured
/// with it: eight ranks that spin in one on two cores take 20 ms.
double span_of(const std::vector<double>& began, const std::vector<double>& ended) {
  if (began.empty()) return 0;
  return *std::max_element(ended.begin(), ended.end()) -
         *std::min_element(began.begin(), began.end());
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// None where the ranks cannot be asked.
std::vector<pid_t> processes_beside(comm::Communicator& ranks) {
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

ReadPlan GivenPlan::as_plan() const {
  return {.splinter_bytes = splinter_bytes,
          .window_bytes = window_bytes,
          .request_bytes = request_bytes,
          .queue_depth = queue_depth,
          .agents = agents};
}

Job Job::of(Work work, const Cut& cut, Hints hints) {
  Job job{.work = work,
          .hints = hints,
          .file_bytes = cut.file_bytes,
          .task_count = cut.task_count,
          .path = {}};
  const std::string path = cut.path.string();
  std::memcpy(job.path.data(), path.data(), std::min(path.size(), job.path.size() - 1));
  return job;
}

Result<std::unique_ptr<Crew>> Crew::muster(const std::shared_ptr<comm::Communicator>& everybody,
                                           std::uint32_t size) {
  const bool is_chosen = everybody->rank().number < size;
  auto chosen = everybody->split({.color = is_chosen ? 0U : 1U, .key = 0});
  if (!chosen) return failure(chosen.error());
  return std::unique_ptr<Crew>(new Crew(everybody, std::move(*chosen), size));
}

Crew::Crew(const std::shared_ptr<comm::Communicator>& everybody,
           std::shared_ptr<comm::Communicator> chosen,
           std::uint32_t size)
    : size_(size),
      everybody_(everybody),
      team_(std::move(chosen)),
      processes_of_node_(processes_beside(team_.ranks())) {}

Crew::~Crew() {
  if (leads()) static_cast<void>(tell({.reach = Reach::kEverybody, .path = {}}));
}

Status Crew::tell(const Job& job) {
  Job told = job;
  if (job.reach == Reach::kEverybody) {
    for (std::uint32_t rank = size_; rank < everybody_.ranks().size(); ++rank) {
      Status sent = everybody_.ranks().send(bytes_of(told), {rank}, kOrders).wait();
      if (!sent) return sent;
    }
  }
  return team_.ranks().broadcast(bytes_of(told), {0});
}

Result<Job> Crew::hear() {
  Job job;
  if (is_chosen()) {
    const Status heard = team_.ranks().broadcast(bytes_of(job), {0});
    return heard.map([&] { return job; });
  }
  comm::Transfer order = everybody_.ranks().receive(bytes_of(job), {0}, kOrders);
  while (true) {
    const Result<bool> arrived = order.test();
    if (!arrived) return failure(arrived.error());
    if (*arrived) return job;
    std::this_thread::sleep_for(kNap);
  }
}

Result<double> Crew::time(const Job& job) {
  return measure(job).map([](const Measured& measured) { return measured.seconds; });
}

Result<Measured> Crew::measure(const Job& job) {
  if (auto told = tell(job); !told) return failure(told.error());
  return take_part(job);
}

Status Crew::serve() {
  while (true) {
    const Result<Job> job = hear();
    if (!job) return failure(job.error());
    if (job->work == Work::kLeave) return {};
    // What fails here is agreed on: rank 0 tells of it.
    static_cast<void>(take_part(*job));
  }
}

/// Buffers of this rank's tasks, touched before any clock runs; kept from one job to the next.
Status Crew::provide_memory(const Job& job) {
  const std::uint64_t needed_bytes =
      reads_into_buffers(job.work) ? share_of(job, ranks(job.reach)).size : 0;
  if (memory_bytes_ >= needed_bytes && !is_bare(job.work)) return {};
  memory_.reset();
  memory_bytes_ = 0;
  if (needed_bytes > 0) {
    auto made = TouchedMemory::make(needed_bytes);
    if (!made) return failure(made.error());
    memory_ = std::move(*made);
    memory_bytes_ = needed_bytes;
  }
  if (!is_bare(job.work)) return {};
  team_of(job.reach).end_runtime();
  ::malloc_trim(0);
  return {};
}

Result<Measured> Crew::take_part(const Job& job) {
  const Status provided = provide_memory(job);
  Team& team = team_of(job.reach);
  comm::Communicator& ranks = team.ranks();
  if (auto agreed = ranks.agree(provided); !agreed) return failure(agreed.error());
  WorkSite site{.team = team,
                .ranks = ranks,
                .memory = memory_ ? memory_->bytes() : std::span<std::byte>(),
                .job = job};
  std::unique_ptr<Performance> work;
  const Status ready = [&]() -> Status {
    auto made = prepare_work(site);
    if (!made) return failure(made.error());
    work = std::move(*made);
    return {};
  }();
  if (auto agreed = ranks.agree(ready); !agreed) return failure(agreed.error());
  if (auto together = ranks.barrier(); !together) return failure(together.error());
  const std::uint64_t before_bytes = probe::received_bytes_of_this_host();
  const double began = now_seconds();
  const Status done = work->run();
  const double ended = now_seconds();
  if (auto together = ranks.barrier(); !together) return failure(together.error());
  const std::uint64_t came_bytes = probe::received_bytes_of_this_host() - before_bytes;
  if (auto agreed = ranks.agree(done); !agreed) return failure(agreed.error());
  const auto all_began = collect(job, began);
  if (!all_began) return failure(all_began.error());
  const auto all_ended = collect(job, ended);
  if (!all_ended) return failure(all_ended.error());
  auto found = collect(job, work->found());
  if (!found) return failure(found.error());
  auto came = collect(job, static_cast<double>(came_bytes));
  if (!came) return failure(came.error());
  return Measured{.seconds = span_of(*all_began, *all_ended),
                  .found = std::move(*found),
                  .received_bytes = std::move(*came),
                  .plan = work->plan()};
}

/// By rank, on the first; nothing elsewhere.
Result<std::vector<double>> Crew::collect(const Job& job, double mine) {
  const auto gathered = ranks(job.reach).gather(bytes_of(mine), {0});
  if (!gathered) return failure(gathered.error());
  std::vector<double> by_rank(gathered->size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    std::memcpy(&by_rank[rank], (*gathered)[rank].data(), sizeof(double));
  return by_rank;
}

}  // namespace forebay::bench::read
