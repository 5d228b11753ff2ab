// SPDX-License-Identifier: Apache-2.0
// MPI-IO for comparison with sessions, as its users would tune it: opened once, with hints; either
// one collective call for each rank's share, or one independent read for each task's slice.
#include <utility>

#include "bench/read/kernels.hpp"
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

class CollectiveRead final : public PreparedRun {
 public:
  CollectiveRead(const KernelContext& context, std::unique_ptr<comm::CollectiveFile> file)
      : file_(std::move(file)),
        kernel_(context.job.kernel),
        partition_(context.job.partition()),
        tasks_(tasks_of(context.job, context.ranks)),
        share_(share_of(context.job, context.ranks)),
        memory_(context.memory.first(share_.size)) {}

  Status run() override { return kernel_ == Kernel::kMpiCollective ? run_share() : run_tasks(); }

 private:
  Status run_share() {
    if (auto read = check_count(file_->read_at_all(memory_, share_.offset), share_.size); !read)
      return read;
    return verify_words(memory_, share_.offset);
  }
  Status run_tasks() {
    for (std::uint64_t task = tasks_.first; task < tasks_.last; ++task) {
      const ByteRange slice = partition_.slice(task);
      const auto into = memory_.subspan(slice.offset - share_.offset, slice.size);
      if (auto read = check_count(file_->read_at(into, slice.offset), slice.size); !read)
        return read;
      if (auto touched = verify_words(into, slice.offset); !touched) return touched;
    }
    return {};
  }

  std::unique_ptr<comm::CollectiveFile> file_;
  Kernel kernel_;
  FilePartition partition_;
  TaskRange tasks_;
  ByteRange share_;
  std::span<std::byte> memory_;
};

}  // namespace

Result<std::unique_ptr<PreparedRun>> prepare_collective_file(const KernelContext& context) {
  const comm::CollectiveOpenOptions how{.intent = comm::FileIntent::kRead,
                                        .hints = hints_of(context.job.hints, context.ranks.size())};
  auto file = context.ranks.open_file(context.job.partition().path.string(), how);
  if (!file) return failure(file.error());
  return std::make_unique<CollectiveRead>(context, std::move(*file));
}

}  // namespace forebay::bench::read
