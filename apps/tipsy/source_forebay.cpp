// SPDX-License-Identifier: Apache-2.0
// The source that the program is about: agents read ahead in large pieces, a task's read is a view
// of their window, and a task whose bytes are not there yet gives its thread to another one.
#include <forebay/runtime.hpp>

#include <algorithm>

#include "tipsy/source.hpp"

namespace forebay::tipsy {

namespace {

/// A look takes little from many places: small splinters, nothing ahead, nothing read twice, and
/// little memory, because most of the budget is for what follows.
constexpr std::uint64_t kLookSplinterBytes = 16_KiB;
constexpr std::uint64_t kLookBudgetBytes = 1_MiB;
constexpr std::uint64_t kLookShare = 4;

class ForebayReader final : public TaskReader {
 public:
  explicit ForebayReader(Views views) : views_(std::move(views)) {}

  bool done() const override { return views_.done(); }

  Future<Piece> next() override {
    return views_.next().then([](Result<View> view) -> Result<Piece> {
      if (!view) return failure(view.error());
      return Piece(std::move(*view));
    });
  }

 private:
  Views views_;
};

class ForebaySource final : public ByteSource {
 public:
  explicit ForebaySource(const RuntimeOptions& options)
      : budget_bytes_(options.budget_bytes), runtime_(options) {}

  Status open(const std::string& path) {
    Result<File> file = runtime_.open(path);
    if (!file) return failure(file.error());
    file_.emplace(std::move(*file));
    return {};
  }

  std::uint64_t file_bytes() const override { return file_->size(); }
  // The runtime's own: a worker that waits there may do what agents would do, if that is quicker.
  EventLoop& loop() override { return runtime_.loop(); }
  Status look(std::span<const ByteRange> ranges, std::span<std::byte> into) override {
    ReadPlan plan;
    plan.splinter_bytes = kLookSplinterBytes;
    plan.budget_bytes =
        std::clamp(budget_bytes_ / kLookShare, kLookSplinterBytes, kLookBudgetBytes);
    plan.eager_bytes = 0;
    plan.retirement = Retirement::kCache;
    const Result<Session> session = file_->read_session({}, plan);
    if (!session) return failure(session.error());
    const Result<ByteCount> read = session->read(ranges, into).wait();
    if (!read) return failure(read.error());
    return {};
  }

  Status begin(ByteRange extent) override {
    ReadPlan plan;
    plan.budget_bytes = budget_bytes_;
    Result<Session> session = file_->read_session(extent, plan);
    if (!session) return failure(session.error());
    session_.emplace(std::move(*session));
    return {};
  }

  std::unique_ptr<TaskReader> reader(ByteRange range) const override {
    return std::make_unique<ForebayReader>(session_->views(range));
  }

  std::optional<SourceReport> report() const override {
    if (!session_) return std::nullopt;
    return SourceReport{session_->report(), session_->plan()};
  }

 private:
  std::uint64_t budget_bytes_;
  Runtime runtime_;  // before what must not outlive it
  std::optional<File> file_;
  std::optional<Session> session_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_forebay_source(const std::string& path,
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
