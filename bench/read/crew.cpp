// SPDX-License-Identifier: Apache-2.0
#include "bench/read/crew.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "bench/frame/clock.hpp"
#include "bench/read/works.hpp"

namespace forebay::bench::read {

namespace {

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

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

Crew::Crew(const std::shared_ptr<comm::Communicator>& ranks)
    : ranks_(ranks), runtime_(Ranks(ranks)) {}

Crew::~Crew() {
  if (ranks_->rank().number == 0) static_cast<void>(tell({}));
}

Status Crew::tell(const Job& job) {
  Job told = job;
  return ranks_->broadcast(bytes_of(told), {0});
}

Result<double> Crew::time(const Job& job) {
  if (auto told = tell(job); !told) return tl::unexpected<Error>(told.error());
  const Result<Outcome> mine = take_part(job);
  if (auto all = collect(mine); !all) return tl::unexpected<Error>(all.error());
  return mine->seconds;
}

Result<std::vector<double>> Crew::measure(const Job& job) {
  if (auto told = tell(job); !told) return tl::unexpected<Error>(told.error());
  return collect(take_part(job));
}

Status Crew::serve() {
  while (true) {
    Job job;
    if (auto told = ranks_->broadcast(bytes_of(job), {0}); !told) return told;
    if (job.work == Work::kLeave) return {};
    // What fails here is agreed on: rank 0 tells of it.
    static_cast<void>(collect(take_part(job)));
  }
}

Result<Crew::Outcome> Crew::take_part(const Job& job) {
  const std::uint64_t share_bytes = share_of(job, *ranks_).size;
  if (memory_bytes_ < share_bytes) {
    memory_.reset();
    memory_.emplace(share_bytes);
    memory_bytes_ = share_bytes;
  }
  WorkSite site{.runtime = runtime_, .ranks = *ranks_, .memory = memory_->bytes(), .job = job};
  std::unique_ptr<Performance> work;
  const Status ready = [&]() -> Status {
    auto made = prepare_work(site);
    if (!made) return tl::unexpected<Error>(made.error());
    work = std::move(*made);
    return {};
  }();
  if (auto agreed = ranks_->agree(ready); !agreed) return tl::unexpected<Error>(agreed.error());
  if (auto together = ranks_->barrier(); !together) return tl::unexpected<Error>(together.error());
  const Stopwatch watch;
  const Status done = work->run();
  if (auto together = ranks_->barrier(); !together) return tl::unexpected<Error>(together.error());
  const double seconds = watch.seconds();
  if (auto agreed = ranks_->agree(done); !agreed) return tl::unexpected<Error>(agreed.error());
  return Outcome{.seconds = seconds, .found = work->found()};
}

/// An Error of take_part() is the same on all ranks, so that all come here or none.
Result<std::vector<double>> Crew::collect(const Result<Outcome>& mine) {
  if (!mine) return tl::unexpected<Error>(mine.error());
  double found = mine->found;
  const auto gathered = ranks_->gather(bytes_of(found), {0});
  if (!gathered) return tl::unexpected<Error>(gathered.error());
  std::vector<double> by_rank(gathered->size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    std::memcpy(&by_rank[rank], (*gathered)[rank].data(), sizeof(double));
  return by_rank;
}

}  // namespace forebay::bench::read
