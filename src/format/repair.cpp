// SPDX-License-Identifier: Apache-2.0
#include "format/repair.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "format/index_scan.hpp"
#include "format/open_commits.hpp"
#include "format/read_range.hpp"
#include "format/scanned_steps.hpp"
#include "format/verify.hpp"

namespace forebay::format {
namespace {

using Outcome = RepairedStep::Outcome;

std::uint64_t bytes_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

/// A data file in the tables: a step in the file, and its index.
struct ListedFile {
  const StepEntry* step = nullptr;
  const FileEntry* file = nullptr;
};

Error foreign_header_error(const std::string& path, const DataHeader& header) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "read header of",
                .path = path,
                .offset_bytes = 0,
                .cause = "it belongs to " + to_string(header.name) + " of dataset " +
                         to_string(header.dataset)});
}

/// True if both slots can be read, and neither has a later generation.
bool has_newest_generation(storage::File& file, std::uint64_t generation) {
  const auto pages = read_range(file, {0, kSlotsBytes});
  if (!pages || pages->size() < kSlotsBytes) return false;
  for (const std::uint64_t number : {0U, 1U}) {
    const auto slot = decode_slot(std::span(*pages).subspan(number * kPageBytes), number, "");
    if (!slot || slot->generation > generation) return false;
  }
  return true;
}

/// The same damage may be found twice.
void add_unique(std::vector<Error>& errors, const Error& error) {
  const auto is_same = [&](const Error& known) { return known.message() == error.message(); };
  if (std::ranges::none_of(errors, is_same)) errors.push_back(error);
}

class RepairPlanner {
 public:
  RepairPlanner(const std::string& directory, const ProgressCallback& progress)
      : directory_(directory), progress_callback_(progress) {}

  Result<RepairPlan> run() {
    Status done = load_commits_state();
    if (done && needs_tables_) done = scan_steps();
    if (done && needs_tables_) done = choose_dataset();
    if (done && needs_tables_) done = check_steps();
    if (done && needs_tables_) remove_dropped_steps();
    if (done) done = check_files();
    if (done && needs_tables_) done = plan_commits();
    if (!done) return tl::unexpected(done.error());
    report_.steps.reserve(outcomes_.size());
    for (auto& [step, outcome] : outcomes_)
      report_.steps.push_back(std::move(outcome));
    plan_.report = std::move(report_);
    return std::move(plan_);
  }

 private:
  std::string commits_path() const { return directory_ + "/" + std::string(kCommitsName); }

  Status load_commits_state();
  void load_slots(storage::File& file);
  void add_error(const Error& error);
  void add_unrepaired(const Error& error);
  void keep_listed_steps(const LoadedCommits& loaded);
  Status scan_steps();
  Status scan_file(const DataFileName& name);
  bool should_decode(const IndexHeader& head) const;
  Status choose_dataset();
  std::vector<const ScannedStep*> candidate_steps() const;
  Status check_steps();
  RepairedStep check_step(const ScannedStep& found);
  bool has_no_files(const StepEntry& step) const;
  void remove_dropped_steps();
  Status check_files();
  Result<std::size_t> check_indexes(std::span<const ListedFile> uses);
  Status check_header(const DataFileName& name, std::size_t matching_indexes);
  Status plan_commits();
  bool report_progress(std::uint64_t bytes);

  const std::string directory_;
  const ProgressCallback& progress_callback_;
  ReadProgress progress_;
  bool is_cancelled_ = false;
  RepairReport report_;
  RepairPlan plan_;
  bool needs_tables_ = false;
  bool has_newest_slot_ = false;      ///< no slot can have later steps than the valid one
  std::optional<DatasetId> dataset_;  ///< if a slot contains it
  CommitsState state_;
  std::map<std::uint64_t, StepEntry> entries_;  ///< of steps in the new table
  std::map<std::uint64_t, RepairedStep> outcomes_;
  ScannedSteps scanned_steps_;
};

Status RepairPlanner::load_commits_state() {
  const auto file = open_commits(directory_);
  if (!file) {
    const bool is_lost =
        file.error().kind() == ErrorClass::kNotFound && file.error().path() == commits_path();
    if (!is_lost) return tl::unexpected(file.error());
    report_.errors.push_back(file.error());
    needs_tables_ = true;
    return {};
  }
  const auto loaded = load_commits(**file);
  if (loaded) {
    keep_listed_steps(*loaded);
    has_newest_slot_ = has_newest_generation(**file, loaded->state.generation);
    report_.errors = loaded->errors;
    if (loaded->empty_slot && find_file_with_index(directory_, *dataset_))
      report_.errors.push_back(*loaded->empty_slot);
    needs_tables_ = !report_.errors.empty();
    return {};
  }
  if (loaded.error().kind() != ErrorClass::kDamage) return tl::unexpected(loaded.error());
  report_.errors.push_back(loaded.error());
  needs_tables_ = true;
  load_slots(**file);
  return {};
}

void RepairPlanner::add_error(const Error& error) { add_unique(report_.errors, error); }

void RepairPlanner::add_unrepaired(const Error& error) {
  add_error(error);
  add_unique(report_.unrepaired, error);
}

void RepairPlanner::keep_listed_steps(const LoadedCommits& loaded) {
  state_ = loaded.state;
  dataset_ = loaded.state.dataset;
  for (const StepEntry& step : loaded.steps) {
    entries_[step.step] = step;
    outcomes_[step.step] = {step.step, Outcome::kKept, "a slot of commits lists it"};
  }
}

/// A slot without its table still identifies the dataset and the generation.
void RepairPlanner::load_slots(storage::File& file) {
  const auto pages = read_range(file, {0, kSlotsBytes});
  for (std::uint64_t number = 0; pages && number < 2; ++number) {
    const std::uint64_t at = std::min<std::uint64_t>(number * kPageBytes, pages->size());
    const auto slot = decode_slot(std::span(*pages).subspan(at), number, file.path());
    if (!slot || (dataset_ && slot->generation < state_.generation)) continue;
    dataset_ = slot->dataset;
    state_ = {
        .dataset = slot->dataset, .generation = slot->generation, .first_step = slot->first_step};
  }
}

Status RepairPlanner::scan_steps() {
  const auto names = list_data_files(directory_);
  if (!names) return tl::unexpected(names.error());
  for (const DataFileName& name : *names)
    progress_.total_bytes += bytes_of_file(data_path(directory_, name));
  for (const DataFileName& name : *names)
    if (Status found = scan_file(name); !found) return found;
  return {};
}

Status RepairPlanner::scan_file(const DataFileName& name) {
  const auto file = storage::open_file(data_path(directory_, name));
  if (!file) {
    add_unrepaired(file.error());
    return {};
  }
  report_.scanned_bytes += (*file)->size().value_or(0);
  std::optional<Error> unread;  // the first of possibly many
  const IndexVisitor visitor = {
      .on_bytes_read = [this](std::uint64_t bytes) { return report_progress(bytes); },
      .should_decode = [this](const IndexHeader& head) { return should_decode(head); },
      .on_index = [this](const Index& index) { add_index(scanned_steps_, index); },
      .on_error =
          [&](const Error& error) {
            if (!unread) unread = error;
          }};
  const Status done = scan_indexes(**file, name, visitor);
  const bool ends = !done && (done.error().kind() == ErrorClass::kCancelled ||
                              done.error().kind() == ErrorClass::kUnsupported);
  if (ends) return done;
  if (!done) add_unrepaired(done.error());
  if (unread) add_unrepaired(*unread);
  return {};
}

/// Steps in tables need no further information.
bool RepairPlanner::should_decode(const IndexHeader& head) const {
  const IndexId& id = head.id;
  return (!dataset_ || id.dataset == *dataset_) && !outcomes_.contains(id.step) &&
         id.step >= state_.first_step;
}

Status RepairPlanner::choose_dataset() {
  if (dataset_) return {};
  dataset_ = keep_most_frequent_dataset(scanned_steps_);
  if (!dataset_)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "repair",
                    .path = directory_,
                    .cause = "no slot and no index identifies the dataset or its bytes; "
                             "restore it from a copy"});
  state_.dataset = *dataset_;
  return {};
}

bool RepairPlanner::report_progress(std::uint64_t bytes) {
  progress_.done_bytes += bytes;
  is_cancelled_ = is_cancelled_ || (progress_callback_ && !progress_callback_(progress_));
  return !is_cancelled_;
}

RepairedStep RepairPlanner::check_step(const ScannedStep& found) {
  const std::uint32_t files_of_step = found.second.begin()->second.metadata.files;
  RepairedStep result = {.step = found.first.first, .outcome = Outcome::kDamaged};
  if (found.second.size() != files_of_step) {
    result.reason = "indexes of " + std::to_string(found.second.size()) + " of its " +
                    std::to_string(files_of_step) + " files were found";
    return result;
  }
  const StepEntry entry = entry_of(found);
  std::vector<StepFile> files;
  for (const FileEntry& file : entry.files)
    files.push_back(load_step_file(directory_, *dataset_, entry, file));
  VerifyReport report;
  const std::vector<Finding> findings =
      verify_step(StepCatalog(entry, std::move(files)), *dataset_, report,
                  [this](std::uint64_t bytes) { return report_progress(bytes); });
  // Headers are rewritten; they are no reason to leave a step out.
  const auto bad = std::ranges::find_if(findings, [](const Finding& finding) {
    return !finding.error.operation().starts_with("read header");
  });
  if (bad != findings.end()) {
    result.reason = bad->error.message();
    return result;
  }
  result.outcome = Outcome::kRecovered;
  result.reason = "all its indexes and data are valid; it is unknown whether it was published";
  return result;
}

/// Steps that no valid table lists.
std::vector<const ScannedStep*> RepairPlanner::candidate_steps() const {
  std::vector<const ScannedStep*> steps;
  for (const ScannedStep& found : scanned_steps_)
    if (!found.second.empty()) steps.push_back(&found);
  return steps;
}

Status RepairPlanner::check_steps() {
  const std::vector<const ScannedStep*> steps = candidate_steps();
  progress_ = {.pass = 1};
  for (const ScannedStep* files : steps)
    progress_.total_bytes += entry_of(*files).raw_bytes;
  for (const ScannedStep* files : steps) {
    RepairedStep outcome = check_step(*files);
    if (is_cancelled_)
      return failure({.kind = ErrorClass::kCancelled, .operation = "repair", .path = directory_});
    // If a step was retried, its later group counts, if it is complete.
    if (outcomes_.contains(outcome.step) && outcome.outcome == Outcome::kDamaged) continue;
    if (outcome.outcome == Outcome::kRecovered) entries_[outcome.step] = entry_of(*files);
    outcomes_[outcome.step] = std::move(outcome);
  }
  return {};
}

bool RepairPlanner::has_no_files(const StepEntry& step) const {
  return std::ranges::all_of(step.files, [&](const FileEntry& file) {
    std::error_code error;
    return !std::filesystem::exists(data_path(directory_, {step.group, file.file}), error) &&
           !error;
  });
}

/// A slot that is not the newest may list steps that were dropped after it was written. If no
/// listed step has files, they were lost, not dropped.
void RepairPlanner::remove_dropped_steps() {
  if (has_newest_slot_) return;
  auto first = entries_.begin();
  while (first != entries_.end() && outcomes_[first->first].outcome == Outcome::kKept &&
         has_no_files(first->second))
    ++first;
  if (first == entries_.end()) return;
  for (auto dropped = entries_.begin(); dropped != first; ++dropped) {
    outcomes_[dropped->first] = {
        dropped->first, Outcome::kDropped,
        "its files are missing, and the slot that may have recorded its drop is damaged"};
    state_.first_step = dropped->first + 1;
  }
  entries_.erase(entries_.begin(), first);
}

/// Checks the files of all steps in the new tables.
Status RepairPlanner::check_files() {
  std::map<DataFileName, std::vector<ListedFile>> uses;
  for (const auto& [number, step] : entries_)
    for (const FileEntry& file : step.files)
      uses[{step.group, file.file}].push_back({&step, &file});
  for (const auto& [name, of_file] : uses) {
    const auto matching = check_indexes(of_file);
    if (!matching) return tl::unexpected(matching.error());
    if (Status done = check_header(name, *matching); !done) return done;
  }
  return {};
}

/// Returns the number of indexes that match the tables.
Result<std::size_t> RepairPlanner::check_indexes(std::span<const ListedFile> uses) {
  std::size_t matching = 0;
  for (const ListedFile& use : uses) {
    const StepFile file = load_step_file(directory_, *dataset_, *use.step, *use.file);
    if (file.index) ++matching;
    if (file.attributes_error) add_unrepaired(*file.attributes_error);
    if (!file.error) continue;
    if (file.error->kind() == ErrorClass::kUnsupported) return tl::unexpected(*file.error);
    add_unrepaired(*file.error);
  }
  return matching;
}

/// A valid header of another file may be right, and the file name wrong: the indexes decide.
Status RepairPlanner::check_header(const DataFileName& name, std::size_t matching_indexes) {
  const std::string path = data_path(directory_, name);
  const auto file = storage::open_file(path);
  const auto page = file ? read_range(**file, {0, kPageBytes}) : tl::unexpected(file.error());
  if (!page) {
    add_unrepaired(page.error());
    return {};
  }
  const DataHeader expected = {*dataset_, name};
  const auto header = decode_header(*page, path);
  if (header && *header == expected) return {};
  if (!header && header.error().kind() == ErrorClass::kUnsupported)
    return tl::unexpected(header.error());
  if (header && matching_indexes == 0) {
    add_unrepaired(foreign_header_error(path, *header));
    return {};
  }
  add_error(header ? foreign_header_error(path, *header) : header.error());
  report_.rewritten_paths.push_back(path);
  plan_.headers.push_back({path, encode_header(expected)});
  return {};
}

Status RepairPlanner::plan_commits() {
  report_.rewritten_paths.push_back(commits_path());
  std::vector<StepEntry> steps;
  for (const auto& [number, step] : entries_)
    steps.push_back(step);
  const std::uint64_t wall_ns = steps.empty() ? 0 : steps.back().wall_ns;
  CommitPlan first = plan_rebuild(state_, steps, wall_ns);
  auto second = plan_drop(first.new_state, first.new_state.first_step, wall_ns);
  if (!second) return tl::unexpected(second.error());
  plan_.generations.push_back(std::move(first));
  plan_.generations.push_back(std::move(*second));
  return {};
}

}  // namespace

Result<RepairPlan> plan_repair(const std::string& directory, const ProgressCallback& progress) {
  return RepairPlanner(directory, progress).run();
}

}  // namespace forebay::format
