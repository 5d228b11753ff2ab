// SPDX-License-Identifier: Apache-2.0
// MPI-IO beside sessions, as its own users would tune it: opened once, with hints, each rank's
// share in one collective call, or each task's slice by itself.
#include <utility>

#include "bench/read/works.hpp"
#include "comm/collective_file.hpp"

namespace forebay::bench::read {

namespace {

std::vector<comm::Hint> hints_of(Hints hints, std::uint32_t rank_count) {
  switch (hints) {
    case Hints::kDefault:
      return {};
    case Hints::kNoAggregation:
      return {{"romio_cb_read", "disable"}, {"romio_ds_read", "disable"}};
    case Hints::kAggregateAll:
      break;
  }
  return {{"romio_cb_read", "enable"},
          {"cb_nodes", std::to_string(rank_count)},
          {"cb_config_list", "*:" + std::to_string(rank_count)}};
}

Status check_count(const Result<std::size_t>& got, std::size_t wanted) {
  if (!got) return failure(got.error());
  if (*got == wanted) return {};
  return failure({.kind = ErrorClass::kShortFile, .operation = "read with MPI-IO"});
}

class CollectiveRead final : public Performance {
 public:
  CollectiveRead(const WorkSite& site, std::unique_ptr<comm::CollectiveFile> file)
      : file_(std::move(file)),
        work_(site.job.work),
        cut_(site.job.cut()),
        tasks_(tasks_of(site.job, site.ranks)),
        share_(share_of(site.job, site.ranks)),
        memory_(site.memory.first(share_.size)) {}

  Status run() override { return work_ == Work::kMpiCollective ? run_share() : run_tasks(); }

 private:
  Status run_share() {
    if (auto read = check_count(file_->read_at_all(memory_, share_.offset), share_.size); !read)
      return read;
    return touch(memory_, share_.offset);
  }
  Status run_tasks() {
    for (std::uint64_t task = tasks_.first; task < tasks_.last; ++task) {
      const ByteRange slice = cut_.slice(task);
      const auto into = memory_.subspan(slice.offset - share_.offset, slice.size);
      if (auto read = check_count(file_->read_at(into, slice.offset), slice.size); !read)
        return read;
      if (auto touched = touch(into, slice.offset); !touched) return touched;
    }
    return {};
  }

  std::unique_ptr<comm::CollectiveFile> file_;
  Work work_;
  Cut cut_;
  TaskRange tasks_;
  ByteRange share_;
  std::span<std::byte> memory_;
};

}  // namespace

Result<std::unique_ptr<Performance>> prepare_collective_file(const WorkSite& site) {
  const comm::CollectiveOpen how{.intent = comm::FileIntent::kRead,
                                 .hints = hints_of(site.job.hints, site.ranks.size())};
  auto file = site.ranks.open_file(site.job.cut().path.string(), how);
  if (!file) return failure(file.error());
  return std::make_unique<CollectiveRead>(site, std::move(*file));
}

}  // namespace forebay::bench::read
