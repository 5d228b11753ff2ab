// SPDX-License-Identifier: Apache-2.0
#include "flow/stores.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "flow/dataset_store.hpp"
#include "flow/folder_store.hpp"

namespace forebay::flow {

namespace {

namespace fs = std::filesystem;

const char* name_of(StoreKind kind) { return kind == StoreKind::kFolder ? "folder" : "dataset"; }

/// What is at a path; no value if nothing of ours is.
std::optional<StoreKind> look_at(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "commits" || name.starts_with("data-")) return StoreKind::kDataset;
    if (name.starts_with("step-")) return StoreKind::kFolder;
  }
  return std::nullopt;
}

/// A strategy by its name, or the path of a file.
Result<WritePlan> plan_named(const std::string& name) {
  const Result<Strategy> strategy = strategy_named(name);
  if (strategy) return plan_of(*strategy);
  if (name.ends_with(".toml")) return write_plan_from_file(name);
  return failure(strategy.error());
}

/// No value if nothing was asked for.
Result<std::optional<WritePlan>> plan_wished(const StoreWishes& wishes) {
  Result<std::optional<WritePlan>> plan;
  if (!wishes.plan.empty()) {
    const Result<WritePlan> named = plan_named(wishes.plan);
    if (!named) return failure(named.error());
    plan = *named;
  } else if (wishes.keep) {
    plan = write_plan_from(process_environment());
    if (plan && !*plan) plan = WritePlan{};
  }
  if (plan && *plan && wishes.keep) (*plan)->keep = *wishes.keep;
  return plan;
}

Error cannot_be(const std::string& path, std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open store",
                .path = path,
                .cause = std::move(cause)});
}

}  // namespace

StoreOpener Stores::opener() {
  return
      [this](const std::string& path, StoreUse use, Team& team) { return open(path, use, team); };
}

Result<StoreKind> Stores::choose(const std::string& path, StoreUse use, const Team& team) const {
  const std::optional<StoreKind> there = look_at(path);
  const bool is_written = use == StoreUse::kWrite;
  if (there && is_written && wishes_.kind.value_or(*there) != *there) {
    return failure(cannot_be(path, fmt::format("there is a {}; choose another name, or leave out "
                                               "--store {}",
                                               name_of(*there), name_of(*wishes_.kind))));
  }
  const bool is_able = writers_ == Writers::kAllRanks || team.size() == 1 || !is_written;
  const StoreKind chosen =
      is_able || path.ends_with(".fb") ? StoreKind::kDataset : StoreKind::kFolder;
  const StoreKind kind = there.value_or(wishes_.kind.value_or(chosen));
  const bool has_plan = !wishes_.plan.empty() || wishes_.keep;
  if (kind == StoreKind::kFolder && is_written && has_plan) {
    return failure(cannot_be(path, "it is a folder of files; --plan and --keep are for datasets"));
  }
  return kind;
}

Result<std::unique_ptr<PartStore>> Stores::open(const std::string& path, StoreUse use, Team& team) {
  // All take what rank 0 sees.
  Result<StoreKind> kind = StoreKind::kDataset;
  if (team.rank() == 0) kind = choose(path, use, team);
  const Status agreed = team.agree(kind ? Status() : failure(kind.error()));
  if (!agreed) return failure(agreed.error());
  if (team.gather(*kind).front() == StoreKind::kFolder) return open_folder_store(path, use, team);
  return open_dataset(path, use, team);
}

Result<std::unique_ptr<PartStore>> Stores::open_dataset(const std::string& path,
                                                        StoreUse use,
                                                        Team& team) {
  if (const Status made = make_runtime(team); !made) return failure(made.error());
  Result<std::optional<WritePlan>> plan;
  // That of the first rank is in force, so the others need not read any file.
  if (team.rank() == 0 && use == StoreUse::kWrite) plan = plan_wished(wishes_);
  const Status agreed = team.agree(plan ? Status() : failure(plan.error()));
  if (!agreed) return failure(agreed.error());
  return dataset_opener(*runtime_, *plan)(path, use, team);
}

Status Stores::make_runtime(Team& team) {
  if (runtime_) return {};
  Result<RuntimeOptions> options = options_from_environment();
  static StreamLog warnings(stderr, LogLevel::kWarning);
  if (options && team.rank() == 0) options->log = &warnings;
  const Status agreed = team.agree(options ? Status() : failure(options.error()));
  if (agreed) runtime_ = make_runtime_(*options);
  return agreed;
}

}  // namespace forebay::flow
