// SPDX-License-Identifier: Apache-2.0
#include "flow/dataset_store.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

/// Steps that were committed, until it is known what became of them.
class Commitments {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Clock::time_point begun, Future<Receipt> receipt) {
    under_way_.push_back({begun, std::move(receipt)});
  }
  /// Takes what is known by now.
  const Status& look() {
    while (!under_way_.empty() && under_way_.front().receipt.poll())
      settle();
    return failure_;
  }
  const Status& wait() {
    while (!under_way_.empty())
      settle();
    return failure_;
  }
  const std::vector<StepReceipt>& receipts() const { return receipts_; }

 private:
  struct Commitment {
    Clock::time_point begun;
    Future<Receipt> receipt;
  };

  /// The first one stays.
  void fail(const Error& error) {
    if (failure_) failure_ = failure(error);
  }
  void settle() {
    const Clock::time_point begun = under_way_.front().begun;
    const Result<Receipt> told = under_way_.front().receipt.wait();
    under_way_.pop_front();
    if (!told) return fail(told.error());
    receipts_.push_back({told->step, told->bytes, begun, told->perceived, told->durable});
  }

  std::deque<Commitment> under_way_;
  std::vector<StepReceipt> receipts_;
  Status failure_;
};

forebay::Shape shape_of(const ArrayShape& shape) {
  if (shape.width == 1) return {shape.rows};
  return {shape.rows, shape.width};
}

class DatasetWriter final : public StepWriter {
 public:
  DatasetWriter(Commitments& commitments, Commitments::Clock::time_point begun, Step step)
      : commitments_(commitments), begun_(begun), step_(std::move(step)) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    switch (shape.kind) {
      case ElementKind::kU32:
        return put_as<std::uint32_t>(name, shape, bytes);
      case ElementKind::kU64:
        return put_as<std::uint64_t>(name, shape, bytes);
      case ElementKind::kF64:
        return put_as<double>(name, shape, bytes);
    }
    return {};
  }

  Status commit() override {
    commitments_.add(begun_, step_.commit());
    return {};
  }

 private:
  template <class Value>
  Status put_as(const ArrayName& name, const ArrayShape& shape, std::span<const std::byte> bytes) {
    const std::span values(reinterpret_cast<const Value*>(bytes.data()),
                           bytes.size() / sizeof(Value));
    return step_.put(name.name, forebay::Part{name.part}, values, shape_of(shape));
  }

  Commitments& commitments_;
  Commitments::Clock::time_point begun_;
  Step step_;
};

std::optional<ElementKind> kind_of_type(ElementType type) {
  switch (type) {
    case ElementType::kUint32:
      return ElementKind::kU32;
    case ElementType::kUint64:
      return ElementKind::kU64;
    case ElementType::kFloat64:
      return ElementKind::kF64;
    default:
      return std::nullopt;
  }
}

class DatasetReader final : public StepReader {
 public:
  explicit DatasetReader(StoredStep step) : step_(std::move(step)) {}

  Result<StoredArray> get(const ArrayName& name) override {
    const forebay::Part part{name.part};
    const auto shape = step_.shape(name.name, part);
    if (!shape) return failure(shape.error());
    const auto kind = kind_of_type(step_.find(name.name)->type);
    if (!kind || shape->empty() || shape->size() > 2) return not_ours(name);
    const std::uint64_t width = shape->size() == 2 ? shape->back() : 1;
    StoredArray array{{*kind, static_cast<std::uint32_t>(width), shape->front()}, {}};
    array.bytes.resize(array.shape.size_bytes());
    const auto read = step_.read(name.name, part, std::span(array.bytes)).wait();
    if (!read) return failure(read.error());
    return array;
  }

 private:
  static tl::unexpected<Error> not_ours(const ArrayName& name) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read array",
                    .cause = fmt::format("array {} of part {} has a type or a shape that this "
                                         "program does not write",
                                         name.name, name.part)});
  }

  StoredStep step_;
};

std::string counted(std::uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class DatasetStore final : public PartStore {
 public:
  DatasetStore(Runtime& runtime, Team& team, std::string path)
      : runtime_(runtime), team_(team), path_(std::move(path)) {}
  ~DatasetStore() override {
    if (dataset_) (void)dataset_->close();  // wait() has told whoever wanted to know
  }

  /// Collective.
  Status open_to_write(const std::optional<WritePlan>& plan) {
    auto dataset = runtime_.dataset(path_, plan);
    if (!dataset) return failure(dataset.error());
    dataset_.emplace(std::move(*dataset));
    const auto there = steps();
    if (!there) return failure(there.error());
    numbers_ = RisingSteps(*there);
    return {};
  }

  Result<std::unique_ptr<StepWriter>> begin_step(std::uint64_t step) override {
    if (const Status rises = numbers_.begin(step); !rises) return failure(rises.error());
    const auto begun = Commitments::Clock::now();
    const Status earlier = commitments_.look();
    Result<Step> made =
        earlier ? dataset_->begin_step(step) : Result<Step>(failure(earlier.error()));
    // One that does not begin it would keep the others waiting for its deadline.
    const Status agreed = team_.agree(made ? Status() : failure(made.error()));
    if (!agreed) return failure(agreed.error());
    return std::make_unique<DatasetWriter>(commitments_, begun, std::move(*made));
  }

  Result<std::unique_ptr<StepReader>> open_step(std::uint64_t step) override {
    const auto stored = runtime_.open_dataset(path_);
    if (!stored) return failure(stored.error());
    Result<StoredStep> opened = stored->step(step);
    const Status agreed = team_.agree(opened ? Status() : failure(opened.error()));
    if (!agreed) return failure(agreed.error());
    return std::make_unique<DatasetReader>(std::move(*opened));
  }

  Result<std::vector<std::uint64_t>> steps() override {
    const auto stored = runtime_.open_dataset(path_);
    if (!stored) return failure(stored.error());
    return std::vector(stored->steps().begin(), stored->steps().end());
  }

  Status wait() override { return team_.agree(commitments_.wait()); }
  std::vector<StepReceipt> receipts() const override { return commitments_.receipts(); }
  std::string description() const override {
    if (!dataset_) return "dataset";
    const WritePlan& plan = dataset_->plan();
    return fmt::format("dataset, {}: {} writing, {} a step", forebay::name_of(plan.strategy),
                       counted(plan.writers, "rank"), counted(plan.files, "file"));
  }

 private:
  Runtime& runtime_;
  Team& team_;
  std::string path_;
  std::optional<Dataset> dataset_;  // of stores that are written
  RisingSteps numbers_;
  Commitments commitments_;
};

/// Whether the ranks of the Runtime can do it.
Status check_ranks(const Runtime& runtime, StoreUse use, const Team& team) {
  const bool is_alone = use == StoreUse::kRead && runtime.rank_count() == 1;
  const bool is_team = runtime.rank_count() == team.size() && runtime.role() == Role::kCompute;
  if (is_alone || is_team) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open store",
                  .cause = "a dataset is written by all ranks of an MPI job, none given to I/O, or "
                           "by one thread; choose --store folder for several threads"});
}

}  // namespace

StoreOpener dataset_opener(Runtime& runtime, const std::optional<WritePlan>& plan) {
  return [&runtime, plan](const std::string& path, StoreUse use,
                          Team& team) -> Result<std::unique_ptr<PartStore>> {
    const Status may = team.agree(check_ranks(runtime, use, team));
    if (!may) return failure(located(may.error(), path));
    auto store = std::make_unique<DatasetStore>(runtime, team, path);
    Status opened;
    if (use == StoreUse::kWrite) {
      opened = store->open_to_write(plan);
    } else if (const auto there = store->steps(); !there) {
      opened = failure(there.error());
    }
    opened = team.agree(opened);
    if (!opened) return failure(opened.error());
    return store;
  };
}

}  // namespace forebay::flow
