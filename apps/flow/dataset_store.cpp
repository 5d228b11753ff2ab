// SPDX-License-Identifier: Apache-2.0
#include "flow/dataset_store.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

/// Committed steps whose outcome is not known yet.
class PendingCommits {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Clock::time_point begin_time, Future<Receipt> receipt) {
    pending_.push_back({begin_time, std::move(receipt)});
  }
  /// Takes the outcomes that are available.
  const Status& poll() {
    while (!pending_.empty() && pending_.front().receipt.poll())
      complete_front();
    return failure_;
  }
  const Status& wait() {
    while (!pending_.empty())
      complete_front();
    return failure_;
  }
  const std::vector<StepReceipt>& receipts() const { return receipts_; }

 private:
  struct PendingCommit {
    Clock::time_point begin_time;
    Future<Receipt> receipt;
  };

  /// Keeps the first failure.
  void fail(const Error& error) {
    if (failure_) failure_ = failure(error);
  }
  void complete_front() {
    const Clock::time_point begin_time = pending_.front().begin_time;
    const Result<Receipt> receipt = pending_.front().receipt.wait();
    pending_.pop_front();
    if (!receipt) return fail(receipt.error());
    receipts_.push_back({receipt->step, receipt->bytes, begin_time, receipt->perceived_time,
                         receipt->durable_time});
  }

  std::deque<PendingCommit> pending_;
  std::vector<StepReceipt> receipts_;
  Status failure_;
};

forebay::Shape shape_of(const ArrayShape& shape) {
  if (shape.width == 1) return {shape.rows};
  return {shape.rows, shape.width};
}

class DatasetStepWriter final : public PartStepWriter {
 public:
  DatasetStepWriter(PendingCommits& commitments,
                    PendingCommits::Clock::time_point begin_time,
                    StepWriter step)
      : pending_commits_(commitments), begin_time_(begin_time), step_(std::move(step)) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    switch (shape.type) {
      case ScalarType::kU32:
        return put_as<std::uint32_t>(name, shape, bytes);
      case ScalarType::kU64:
        return put_as<std::uint64_t>(name, shape, bytes);
      case ScalarType::kF64:
        return put_as<double>(name, shape, bytes);
    }
    return {};
  }

  Status commit() override {
    pending_commits_.add(begin_time_, step_.commit());
    return {};
  }

 private:
  template <class Value>
  Status put_as(const ArrayName& name, const ArrayShape& shape, std::span<const std::byte> bytes) {
    const std::span values(reinterpret_cast<const Value*>(bytes.data()),
                           bytes.size() / sizeof(Value));
    return step_.put(name.name, forebay::Part{name.part}, values, shape_of(shape));
  }

  PendingCommits& pending_commits_;
  PendingCommits::Clock::time_point begin_time_;
  StepWriter step_;
};

std::optional<ScalarType> scalar_type_of(ElementType type) {
  switch (type) {
    case ElementType::kUint32:
      return ScalarType::kU32;
    case ElementType::kUint64:
      return ScalarType::kU64;
    case ElementType::kFloat64:
      return ScalarType::kF64;
    default:
      return std::nullopt;
  }
}

class DatasetStepReader final : public PartStepReader {
 public:
  explicit DatasetStepReader(StepReader step) : step_(std::move(step)) {}

  Result<StoredArray> get(const ArrayName& name) override {
    const forebay::Part part{name.part};
    const auto shape = step_.shape(name.name, part);
    if (!shape) return failure(shape.error());
    const auto kind = scalar_type_of(step_.find(name.name)->type);
    if (!kind || shape->empty() || shape->size() > 2) return unsupported_array_error(name);
    const std::uint64_t width = shape->size() == 2 ? shape->back() : 1;
    StoredArray array{{*kind, static_cast<std::uint32_t>(width), shape->front()}, {}};
    array.bytes.resize(array.shape.size_bytes());
    const auto read = step_.read(name.name, part, std::span(array.bytes)).wait();
    if (!read) return failure(read.error());
    return array;
  }

 private:
  static tl::unexpected<Error> unsupported_array_error(const ArrayName& name) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read array",
                    .cause = fmt::format("array {} of part {} has a type or a shape that this "
                                         "program does not write",
                                         name.name, name.part)});
  }

  StepReader step_;
};

std::string format_count(std::uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class DatasetStore final : public PartStore {
 public:
  DatasetStore(Runtime& runtime, SolverComm& comm, std::string path)
      : runtime_(runtime), comm_(comm), path_(std::move(path)) {}
  ~DatasetStore() override {
    if (dataset_) (void)dataset_->close();  // wait() has reported any failure
  }

  /// Collective.
  Status open_to_write(DatasetOptions options) {
    options.existing = ExistingDataset::kAppend;
    auto dataset = runtime_.create_dataset(path_, options);
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    const auto existing = steps();
    if (!existing) return failure(existing.error());
    step_order_ = StepOrder(*existing);
    return {};
  }

  Result<std::unique_ptr<PartStepWriter>> begin_step(std::uint64_t step) override {
    if (const Status rises = step_order_.advance(step); !rises) return failure(rises.error());
    const auto begin_time = PendingCommits::Clock::now();
    const Status earlier = pending_commits_.poll();
    Result<StepWriter> made =
        earlier ? dataset_->begin_step(step) : Result<StepWriter>(failure(earlier.error()));
    // A rank that does not begin the step would make the others wait for the step timeout.
    const Status agreed = comm_.agree(made ? Status() : failure(made.error()));
    if (!agreed) return failure(agreed.error());
    return std::make_unique<DatasetStepWriter>(pending_commits_, begin_time, std::move(*made));
  }

  Result<std::unique_ptr<PartStepReader>> open_step(std::uint64_t step) override {
    const auto stored = runtime_.open_dataset(path_);
    if (!stored) return failure(stored.error());
    Result<StepReader> opened = stored->open_step(step);
    const Status agreed = comm_.agree(opened ? Status() : failure(opened.error()));
    if (!agreed) return failure(agreed.error());
    return std::make_unique<DatasetStepReader>(std::move(*opened));
  }

  Result<std::vector<std::uint64_t>> steps() override {
    const auto stored = runtime_.open_dataset(path_);
    if (!stored) return failure(stored.error());
    return std::vector(stored->steps().begin(), stored->steps().end());
  }

  Status wait() override { return comm_.agree(pending_commits_.wait()); }
  std::vector<StepReceipt> receipts() const override { return pending_commits_.receipts(); }
  std::string description() const override {
    if (!dataset_) return "dataset";
    const WritePlan& plan = dataset_->plan();
    return fmt::format("dataset, {}: {} writing, {} a step", forebay::name_of(plan.strategy),
                       format_count(plan.writers, "rank"), format_count(plan.files, "file"));
  }

 private:
  Runtime& runtime_;
  SolverComm& comm_;
  std::string path_;
  std::optional<DatasetWriter> dataset_;  // of stores that are opened to write
  StepOrder step_order_;
  PendingCommits pending_commits_;
};

/// Checks that the ranks of the Runtime can read or write for `comm`.
Status check_ranks(const Runtime& runtime, StoreMode mode, const SolverComm& comm) {
  const bool is_alone = mode == StoreMode::kRead && runtime.rank_count() == 1;
  const bool has_same_ranks =
      runtime.rank_count() == comm.size() && runtime.role() == Role::kCompute;
  if (is_alone || has_same_ranks) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open store",
                  .cause =
                      "only all ranks of an MPI job without I/O ranks, or one thread, can write "
                      "a dataset; choose --store folder for several threads"});
}

}  // namespace

StoreOpener dataset_opener(Runtime& runtime, const DatasetOptions& options) {
  return [&runtime, options](const std::string& path, StoreMode mode,
                             SolverComm& comm) -> Result<std::unique_ptr<PartStore>> {
    const Status may = comm.agree(check_ranks(runtime, mode, comm));
    if (!may) return failure(with_location(may.error(), path));
    auto store = std::make_unique<DatasetStore>(runtime, comm, path);
    Status opened;
    if (mode == StoreMode::kWrite) {
      opened = store->open_to_write(options);
    } else if (const auto existing = store->steps(); !existing) {
      opened = failure(existing.error());
    }
    opened = comm.agree(opened);
    if (!opened) return failure(opened.error());
    return store;
  };
}

}  // namespace forebay::flow
