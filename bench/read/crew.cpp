// SPDX-License-Identifier: Apache-2.0
#include "bench/read/crew.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "bench/frame/clock.hpp"
#include "bench/read/works.hpp"

namespace forebay::bench::read {

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
  if (ranks_->rank().number != 0) return;
  Job leave;
  static_cast<void>(ranks_->broadcast(std::as_writable_bytes(std::span(&leave, 1)), {0}));
}

Result<double> Crew::time(const Job& job) {
  Job told = job;
  if (auto sent = ranks_->broadcast(std::as_writable_bytes(std::span(&told, 1)), {0}); !sent)
    return tl::unexpected<Error>(sent.error());
  return take_part(told);
}

Status Crew::serve() {
  while (true) {
    Job job;
    if (auto told = ranks_->broadcast(std::as_writable_bytes(std::span(&job, 1)), {0}); !told)
      return told;
    if (job.work == Work::kLeave) return {};
    // What fails here is agreed on: rank 0 tells of it.
    static_cast<void>(take_part(job));
  }
}

Result<double> Crew::take_part(const Job& job) {
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
  return seconds;
}

}  // namespace forebay::bench::read
