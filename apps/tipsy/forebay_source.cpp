// SPDX-License-Identifier: Apache-2.0
// Reads with Forebay: agents read ahead in large pieces, and a task reads a view of their window. A
// task whose bytes have not arrived yields its thread to another task.
#include <forebay/runtime.hpp>

#include <algorithm>

#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

namespace {

/// Plan of a sample, which reads little from many places: small splinters, no readahead, nothing
/// read twice. It uses little memory, as the scan needs most of the budget.
constexpr std::uint64_t kSampleSplinterBytes = 16_KiB;
constexpr std::uint64_t kSampleBudgetBytes = 1_MiB;
constexpr std::uint64_t kSampleBudgetShare = 4;

class ForebayReader final : public TaskReader {
 public:
  explicit ForebayReader(ViewSequence views) : views_(std::move(views)) {}

  bool is_done() const override { return views_.is_done(); }

  Future<DataChunk> next_chunk() override {
    return views_.next().then([](Result<View> view) -> Result<DataChunk> {
      if (!view) return failure(view.error());
      return DataChunk(std::move(*view));
    });
  }

 private:
  ViewSequence views_;
};

class ForebaySource final : public SnapshotSource {
 public:
  explicit ForebaySource(const RuntimeOptions& options)
      : budget_bytes_(options.budget_bytes), runtime_(options) {}

  Status open(const std::string& path) {
    Result<File> file = runtime_.open_file(path);
    if (!file) return failure(file.error());
    file_.emplace(std::move(*file));
    return {};
  }

  std::uint64_t file_bytes() const override { return file_->size(); }
  // The event loop of the Runtime: a worker that waits there may load data in place of agents, if
  // that is faster.
  EventLoop& loop() override { return runtime_.event_loop(); }
  Status read_ranges(std::span<const ByteRange> ranges, std::span<std::byte> into) override {
    ReadPlan plan;
    plan.tuning.splinter_bytes = kSampleSplinterBytes;
    plan.budget_bytes =
        std::clamp(budget_bytes_ / kSampleBudgetShare, kSampleSplinterBytes, kSampleBudgetBytes);
    plan.readahead_bytes = 0;
    plan.eviction = EvictionPolicy::kLru;
    const Result<Session> session = file_->read_session({}, plan);
    if (!session) return failure(session.error());
    const Result<ByteCount> read = session->read(ranges, into).wait();
    if (!read) return failure(read.error());
    return {};
  }

  Status begin_session(ByteRange extent) override {
    ReadPlan plan;
    plan.budget_bytes = budget_bytes_;
    Result<Session> session = file_->read_session(extent, plan);
    if (!session) return failure(session.error());
    session_.emplace(std::move(*session));
    return {};
  }

  std::unique_ptr<TaskReader> make_reader(ByteRange range) const override {
    return std::make_unique<ForebayReader>(session_->views(range));
  }

  std::optional<SourceReport> report() const override {
    if (!session_) return std::nullopt;
    return SourceReport{session_->report(), session_->plan()};
  }

 private:
  std::uint64_t budget_bytes_;
  Runtime runtime_;  // declared before members that must not outlive it
  std::optional<File> file_;
  std::optional<Session> session_;
};

}  // namespace

Result<std::unique_ptr<SnapshotSource>> open_forebay_source(const std::string& path,
                                                            const SourceOptions& options) {
  Result<RuntimeOptions> runtime = options_from_environment();
  if (!runtime) return failure(runtime.error());
  if (options.budget_bytes) runtime->budget_bytes = *options.budget_bytes;
  auto source = std::make_unique<ForebaySource>(*runtime);
  if (const Status opened = source->open(path); !opened) {
    return failure(opened.error());
  }
  return source;
}

}  // namespace forebay::tipsy
