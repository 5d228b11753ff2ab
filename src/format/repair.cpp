// SPDX-License-Identifier: Apache-2.0
#include "format/repair.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "format/file_bytes.hpp"
#include "format/found_steps.hpp"
#include "format/index_scan.hpp"
#include "format/open_commits.hpp"
#include "format/verify.hpp"

namespace forebay::format {
namespace {

using Fate = RepairedStep::Fate;

std::uint64_t bytes_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

/// What the tables say of a data file: a step that is in it, and where its index is.
struct FileUse {
  const StepEntry* step = nullptr;
  const FileEntry* file = nullptr;
};

Error foreign_header(const std::string& path, const DataHeader& header) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "read header of",
                .path = path,
                .offset_bytes = 0,
                .cause = "it is that of " + text_of(header.name) + " of dataset " +
                         text_of(header.dataset)});
}

/// True if both slots can be read, and none has a later generation.
bool has_newest(storage::File& file, std::uint64_t generation) {
  const auto pages = read_range(file, {0, kSlotsBytes});
  if (!pages || pages->size() < kSlotsBytes) return false;
  for (const std::uint64_t number : {0U, 1U}) {
    const auto slot = decode_slot(std::span(*pages).subspan(number * kPageBytes), number, "");
    if (!slot || slot->generation > generation) return false;
  }
  return true;
}

/// The same damage may be met twice.
void add_once(std::vector<Error>& errors, const Error& error) {
  const auto is_same = [&](const Error& known) { return known.message() == error.message(); };
  if (std::ranges::none_of(errors, is_same)) errors.push_back(error);
}

class Repair {
 public:
  Repair(const std::string& folder, const OnProgress& progress)
      : folder_(folder), on_progress_(progress) {}

  Result<RepairPlan> run() {
    Status done = look_at_commits();
    if (done && needs_tables_) done = find_steps();
    if (done && needs_tables_) done = choose_dataset();
    if (done && needs_tables_) done = judge_steps();
    if (done && needs_tables_) leave_out_dropped();
    if (done) done = check_files();
    if (done && needs_tables_) done = plan_commits();
    if (!done) return tl::unexpected(done.error());
    report_.steps.reserve(fates_.size());
    for (auto& [step, fate] : fates_)
      report_.steps.push_back(std::move(fate));
    plan_.report = std::move(report_);
    return std::move(plan_);
  }

 private:
  std::string commits_path() const { return folder_ + "/" + std::string(kCommitsName); }

  Status look_at_commits();
  void look_at_slots(storage::File& file);
  void note(const Error& error);
  void note_remaining(const Error& error);
  void keep(const LoadedCommits& loaded);
  Status find_steps();
  Status find_steps_in(const DataFileName& name);
  bool is_wanted(const IndexHead& head) const;
  Status choose_dataset();
  std::vector<const FoundStep*> steps_to_judge() const;
  Status judge_steps();
  RepairedStep judge(const FoundStep& found);
  bool is_gone(const StepEntry& step) const;
  void leave_out_dropped();
  Status check_files();
  Result<std::size_t> check_indexes(std::span<const FileUse> uses);
  Status check_header(const DataFileName& name, std::size_t fitting_indexes);
  Status plan_commits();
  bool has_read(std::uint64_t bytes);

  const std::string folder_;
  const OnProgress& on_progress_;
  ReadProgress progress_;
  bool is_cancelled_ = false;
  RepairReport report_;
  RepairPlan plan_;
  bool needs_tables_ = false;
  bool is_newest_ = false;            ///< no slot can tell of more than the one in force
  std::optional<DatasetId> dataset_;  ///< if a slot told it
  CommitsState known_;
  std::map<std::uint64_t, StepEntry> entries_;  ///< of steps that the new table has
  std::map<std::uint64_t, RepairedStep> fates_;
  FoundSteps found_;
};

Status Repair::look_at_commits() {
  const auto file = open_commits(folder_);
  if (!file) {
    const bool is_lost =
        file.error().kind() == ErrorClass::kNotFound && file.error().path() == commits_path();
    if (!is_lost) return tl::unexpected(file.error());
    report_.damages.push_back(file.error());
    needs_tables_ = true;
    return {};
  }
  const auto loaded = load_commits(**file);
  if (loaded) {
    keep(*loaded);
    is_newest_ = has_newest(**file, loaded->state.generation);
    report_.damages = loaded->damages;
    if (loaded->empty_slot && find_file_with_index(folder_, *dataset_))
      report_.damages.push_back(*loaded->empty_slot);
    needs_tables_ = !report_.damages.empty();
    return {};
  }
  if (loaded.error().kind() != ErrorClass::kDamage) return tl::unexpected(loaded.error());
  report_.damages.push_back(loaded.error());
  needs_tables_ = true;
  look_at_slots(**file);
  return {};
}

void Repair::note(const Error& error) { add_once(report_.damages, error); }

void Repair::note_remaining(const Error& error) {
  note(error);
  add_once(report_.remaining, error);
}

void Repair::keep(const LoadedCommits& loaded) {
  known_ = loaded.state;
  dataset_ = loaded.state.dataset;
  for (const StepEntry& step : loaded.steps) {
    entries_[step.step] = step;
    fates_[step.step] = {step.step, Fate::kKept, "a slot of commits tells of it"};
  }
}

/// A slot without its table still says whose it is, and which generations there were.
void Repair::look_at_slots(storage::File& file) {
  const auto pages = read_range(file, {0, kSlotsBytes});
  for (std::uint64_t number = 0; pages && number < 2; ++number) {
    const std::uint64_t at = std::min<std::uint64_t>(number * kPageBytes, pages->size());
    const auto slot = decode_slot(std::span(*pages).subspan(at), number, file.path());
    if (!slot || (dataset_ && slot->generation < known_.generation)) continue;
    dataset_ = slot->dataset;
    known_ = {
        .dataset = slot->dataset, .generation = slot->generation, .first_step = slot->first_step};
  }
}

Status Repair::find_steps() {
  const auto names = list_data_files(folder_);
  if (!names) return tl::unexpected(names.error());
  for (const DataFileName& name : *names)
    progress_.all_bytes += bytes_of_file(data_path(folder_, name));
  for (const DataFileName& name : *names)
    if (Status found = find_steps_in(name); !found) return found;
  return {};
}

Status Repair::find_steps_in(const DataFileName& name) {
  const auto file = storage::open_file(data_path(folder_, name));
  if (!file) {
    note_remaining(file.error());
    return {};
  }
  report_.scanned_bytes += (*file)->size().value_or(0);
  std::optional<Error> unread;  // the first of maybe many
  const IndexSeeker seeker = {
      .has_read = [this](std::uint64_t bytes) { return has_read(bytes); },
      .is_wanted = [this](const IndexHead& head) { return is_wanted(head); },
      .found = [this](const Index& index) { add(found_, index); },
      .failed =
          [&](const Error& error) {
            if (!unread) unread = error;
          }};
  const Status done = scan_indexes(**file, name, seeker);
  const bool ends = !done && (done.error().kind() == ErrorClass::kCancelled ||
                              done.error().kind() == ErrorClass::kUnsupported);
  if (ends) return done;
  if (!done) note_remaining(done.error());
  if (unread) note_remaining(*unread);
  return {};
}

/// Of steps that tables tell of nothing more has to be known.
bool Repair::is_wanted(const IndexHead& head) const {
  const IndexPlace& place = head.place;
  return (!dataset_ || place.dataset == *dataset_) && !fates_.contains(place.step) &&
         place.step >= known_.first_step;
}

Status Repair::choose_dataset() {
  if (dataset_) return {};
  dataset_ = keep_most_frequent_dataset(found_);
  if (!dataset_)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "repair",
                    .path = folder_,
                    .cause = "no slot and no index says which dataset it is, nor what its bytes "
                             "are; if there is a copy, take that"});
  known_.dataset = *dataset_;
  return {};
}

bool Repair::has_read(std::uint64_t bytes) {
  progress_.done_bytes += bytes;
  is_cancelled_ = is_cancelled_ || (on_progress_ && !on_progress_(progress_));
  return !is_cancelled_;
}

RepairedStep Repair::judge(const FoundStep& found) {
  const std::uint32_t files_of_step = found.second.begin()->second.facts.files;
  RepairedStep result = {.step = found.first.first, .fate = Fate::kDamaged};
  if (found.second.size() != files_of_step) {
    result.why = "indexes of " + std::to_string(found.second.size()) + " of its " +
                 std::to_string(files_of_step) + " files are there";
    return result;
  }
  const StepEntry entry = entry_of(found);
  std::vector<StepFile> files;
  for (const FileEntry& file : entry.files)
    files.push_back(load_step_file(folder_, *dataset_, entry, file));
  VerifyReport report;
  const std::vector<Finding> findings =
      verify_step(StepCatalog(entry, std::move(files)), *dataset_, report,
                  [this](std::uint64_t bytes) { return has_read(bytes); });
  // Headers are written anew; they are no reason to leave a step out.
  const auto bad = std::ranges::find_if(findings, [](const Finding& finding) {
    return !finding.error.operation().starts_with("read header");
  });
  if (bad != findings.end()) {
    result.why = bad->error.message();
    return result;
  }
  result.fate = Fate::kRecovered;
  result.why = "all its indexes and data are whole; whether it was published is not known";
  return result;
}

/// Those that no valid table tells of.
std::vector<const FoundStep*> Repair::steps_to_judge() const {
  std::vector<const FoundStep*> steps;
  for (const FoundStep& found : found_)
    if (!found.second.empty()) steps.push_back(&found);
  return steps;
}

Status Repair::judge_steps() {
  const std::vector<const FoundStep*> steps = steps_to_judge();
  progress_ = {.pass = 1};
  for (const FoundStep* files : steps)
    progress_.all_bytes += entry_of(*files).raw_bytes;
  for (const FoundStep* files : steps) {
    RepairedStep fate = judge(*files);
    if (is_cancelled_)
      return failure({.kind = ErrorClass::kCancelled, .operation = "repair", .path = folder_});
    // Of a step that was tried again, the group that came later counts, if it is whole.
    if (fates_.contains(fate.step) && fate.fate == Fate::kDamaged) continue;
    if (fate.fate == Fate::kRecovered) entries_[fate.step] = entry_of(*files);
    fates_[fate.step] = std::move(fate);
  }
  return {};
}

bool Repair::is_gone(const StepEntry& step) const {
  return std::ranges::all_of(step.files, [&](const FileEntry& file) {
    std::error_code error;
    return !std::filesystem::exists(data_path(folder_, {step.group, file.file}), error) && !error;
  });
}

/// A slot that is not the newest tells of steps that were dropped after it was written. Where that
/// would be all of them, files were lost.
void Repair::leave_out_dropped() {
  if (is_newest_) return;
  auto first = entries_.begin();
  while (first != entries_.end() && fates_[first->first].fate == Fate::kKept &&
         is_gone(first->second))
    ++first;
  if (first == entries_.end()) return;
  for (auto gone = entries_.begin(); gone != first; ++gone) {
    fates_[gone->first] = {gone->first, Fate::kDropped,
                           "its files are gone, and the slot that may have said so is damaged"};
    known_.first_step = gone->first + 1;
  }
  entries_.erase(entries_.begin(), first);
}

/// Of all steps that tables will tell of.
Status Repair::check_files() {
  std::map<DataFileName, std::vector<FileUse>> uses;
  for (const auto& [number, step] : entries_)
    for (const FileEntry& file : step.files)
      uses[{step.group, file.file}].push_back({&step, &file});
  for (const auto& [name, of_file] : uses) {
    const auto fitting = check_indexes(of_file);
    if (!fitting) return tl::unexpected(fitting.error());
    if (Status done = check_header(name, *fitting); !done) return done;
  }
  return {};
}

/// How many are what the tables say.
Result<std::size_t> Repair::check_indexes(std::span<const FileUse> uses) {
  std::size_t fitting = 0;
  for (const FileUse& use : uses) {
    const StepFile file = load_step_file(folder_, *dataset_, *use.step, *use.file);
    if (file.index) ++fitting;
    if (!file.damage) continue;
    if (file.damage->kind() == ErrorClass::kUnsupported) return tl::unexpected(*file.damage);
    note_remaining(*file.damage);
  }
  return fitting;
}

/// A whole header of another file may be right, and the name of the file wrong: indexes decide.
Status Repair::check_header(const DataFileName& name, std::size_t fitting_indexes) {
  const std::string path = data_path(folder_, name);
  const auto file = storage::open_file(path);
  const auto page = file ? read_range(**file, {0, kPageBytes}) : tl::unexpected(file.error());
  if (!page) {
    note_remaining(page.error());
    return {};
  }
  const DataHeader expected = {*dataset_, name};
  const auto header = decode_header(*page, path);
  if (header && *header == expected) return {};
  if (!header && header.error().kind() == ErrorClass::kUnsupported)
    return tl::unexpected(header.error());
  if (header && fitting_indexes == 0) {
    note_remaining(foreign_header(path, *header));
    return {};
  }
  note(header ? foreign_header(path, *header) : header.error());
  report_.rewritten.push_back(path);
  plan_.headers.push_back({path, encode_header(expected)});
  return {};
}

Status Repair::plan_commits() {
  report_.rewritten.push_back(commits_path());
  std::vector<StepEntry> steps;
  for (const auto& [number, step] : entries_)
    steps.push_back(step);
  const std::uint64_t wall_ns = steps.empty() ? 0 : steps.back().wall_ns;
  CommitPlan first = plan_anew(known_, steps, wall_ns);
  auto second = plan_drop(first.after, first.after.first_step, wall_ns);
  if (!second) return tl::unexpected(second.error());
  plan_.generations.push_back(std::move(first));
  plan_.generations.push_back(std::move(*second));
  return {};
}

}  // namespace

Result<RepairPlan> plan_repair(const std::string& folder, const OnProgress& progress) {
  return Repair(folder, progress).run();
}

}  // namespace forebay::format
