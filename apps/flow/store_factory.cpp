// SPDX-License-Identifier: Apache-2.0
#include "flow/store_factory.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "flow/dataset_store.hpp"
#include "flow/directory_store.hpp"

namespace forebay::flow {

namespace {

namespace fs = std::filesystem;

const char* name_of(StoreKind kind) { return kind == StoreKind::kDirectory ? "folder" : "dataset"; }

/// Type of the store at a path; no value if the path has none.
std::optional<StoreKind> detect_kind(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "commits" || name.starts_with("data-")) return StoreKind::kDataset;
    if (name.starts_with("step-")) return StoreKind::kDirectory;
  }
  return std::nullopt;
}

/// Parses the name of a strategy, or loads the plan of a file.
Result<WritePlan> parse_plan(const std::string& name) {
  const Result<Strategy> strategy = parse_strategy(name);
  if (strategy) return plan_of(*strategy);
  if (name.ends_with(".toml")) return load_write_plan(name);
  return failure(strategy.error());
}

/// No value if no plan and no number of steps is requested.
Result<std::optional<WritePlan>> requested_plan(const StoreOptions& store_options) {
  Result<std::optional<WritePlan>> plan;
  if (!store_options.plan.empty()) {
    const Result<WritePlan> named = parse_plan(store_options.plan);
    if (!named) return failure(named.error());
    plan = *named;
  } else if (store_options.keep) {
    plan = write_plan_from_environment();
    if (plan && !*plan) plan = WritePlan{};
  }
  if (plan && *plan && store_options.keep) (*plan)->retained_steps = *store_options.keep;
  return plan;
}

Error store_error(const std::string& path, std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open store",
                .path = path,
                .cause = std::move(cause)});
}

}  // namespace

StoreOpener StoreFactory::opener() {
  return [this](const std::string& path, StoreMode mode, SolverComm& comm) {
    return open(path, mode, comm);
  };
}

Result<StoreKind> StoreFactory::choose_kind(const std::string& path,
                                            StoreMode mode,
                                            const SolverComm& comm) const {
  const std::optional<StoreKind> existing = detect_kind(path);
  const bool is_written = mode == StoreMode::kWrite;
  if (existing && is_written && store_options_.kind.value_or(*existing) != *existing) {
    return failure(
        store_error(path, fmt::format("the path holds a {}; choose another path, or omit "
                                      "--store {}",
                                      name_of(*existing), name_of(*store_options_.kind))));
  }
  const bool can_write_dataset =
      dataset_ranks_ == DatasetRanks::kAllRanks || comm.size() == 1 || !is_written;
  const StoreKind chosen =
      can_write_dataset || path.ends_with(".fb") ? StoreKind::kDataset : StoreKind::kDirectory;
  const StoreKind kind = existing.value_or(store_options_.kind.value_or(chosen));
  const bool has_plan =
      !store_options_.plan.empty() || store_options_.keep || store_options_.tuning == Tuning::kOn;
  if (kind == StoreKind::kDirectory && is_written && has_plan) {
    return failure(store_error(
        path, "the store is a directory of files; --plan, --keep and --tune apply to datasets"));
  }
  return kind;
}

Result<std::unique_ptr<PartStore>> StoreFactory::open(const std::string& path,
                                                      StoreMode mode,
                                                      SolverComm& comm) {
  // All ranks use the choice of rank 0.
  Result<StoreKind> kind = StoreKind::kDataset;
  if (comm.rank() == 0) kind = choose_kind(path, mode, comm);
  const Status agreed = comm.agree(kind ? Status() : failure(kind.error()));
  if (!agreed) return failure(agreed.error());
  if (comm.allgather(*kind).front() == StoreKind::kDirectory)
    return open_directory_store(path, mode, comm);
  return open_dataset(path, mode, comm);
}

Result<std::unique_ptr<PartStore>> StoreFactory::open_dataset(const std::string& path,
                                                              StoreMode mode,
                                                              SolverComm& comm) {
  if (const Status made = make_runtime(comm); !made) return failure(made.error());
  Result<std::optional<WritePlan>> plan;
  // The plan of the first rank applies, so the others need not read a file.
  if (comm.rank() == 0 && mode == StoreMode::kWrite) plan = requested_plan(store_options_);
  const Status agreed = comm.agree(plan ? Status() : failure(plan.error()));
  if (!agreed) return failure(agreed.error());
  const bool is_tuned = store_options_.tuning == Tuning::kOn;
  return dataset_opener(*runtime_, {.plan = *plan, .tune = is_tuned})(path, mode, comm);
}

Status StoreFactory::make_runtime(SolverComm& comm) {
  if (runtime_) return {};
  Result<RuntimeOptions> options = options_from_environment();
  static StreamLog warnings(stderr, LogLevel::kWarning);
  if (options && comm.rank() == 0) options->log = &warnings;
  const Status agreed = comm.agree(options ? Status() : failure(options.error()));
  if (agreed) runtime_ = make_runtime_(*options);
  return agreed;
}

}  // namespace forebay::flow
