// SPDX-License-Identifier: Apache-2.0
#include "format/repair.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "format/data_header.hpp"
#include "format/file_bytes.hpp"
#include "format/index_scan.hpp"
#include "format/verify.hpp"

namespace forebay::format {
namespace {

using Fate = RepairedStep::Fate;

/// What is kept of an index, of which there may be more than memory holds.
struct FoundFile {
  DatasetId dataset = {};
  StepFacts facts = {};
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Reference index = {};
};
/// All that data files tell of one step in one group: the last index in each file counts.
using FoundFiles = std::map<std::uint32_t, FoundFile>;
/// By step and group.
using FoundSteps = std::map<std::pair<std::uint64_t, std::uint64_t>, FoundFiles>;
using FoundStep = FoundSteps::value_type;

std::uint64_t bytes_of_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

StepEntry entry_of(const FoundStep& found) {
  const StepFacts& facts = found.second.begin()->second.facts;
  StepEntry entry = {.step = found.first.first,
                     .group = found.first.second,
                     .wall_ns = facts.wall_ns,
                     .writers = facts.writers,
                     .strategy = facts.strategy};
  for (const auto& [number, file] : found.second) {
    entry.raw_bytes += file.raw_bytes;
    entry.stored_bytes += file.stored_bytes;
    entry.files.push_back({number, file.index});
  }
  return entry;
}

/// Names of new files survive a power cut only when their folder was synced.
Status sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0 && ::fsync(opened.get()) == 0) return {};
  return tl::unexpected(system_error({.operation = "sync", .path = folder}, errno));
}

Status write_bytes(const std::string& path, std::span<const CommitWrite> writes) {
  const auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!file) return tl::unexpected(file.error());
  for (const CommitWrite& write : writes)
    if (const auto done = (*file)->write_at(write.bytes, write.offset); !done)
      return tl::unexpected(done.error());
  return (*file)->sync();
}

class Repair {
 public:
  Repair(const std::string& folder, RepairMode mode, const OnProgress& progress)
      : folder_(folder), mode_(mode), on_progress_(progress) {}

  Result<RepairReport> run() {
    Status done = look_at_commits();
    if (done && needs_tables_) done = find_steps();
    if (done && needs_tables_) done = choose_dataset();
    if (done && needs_tables_) done = judge_steps();
    if (done) done = repair_headers();
    if (done && needs_tables_) done = write_commits();
    if (!done) return tl::unexpected(done.error());
    report_.steps.reserve(fates_.size());
    for (auto& [step, fate] : fates_)
      report_.steps.push_back(std::move(fate));
    return std::move(report_);
  }

 private:
  std::string commits_path() const { return folder_ + "/" + std::string(kCommitsName); }

  Status look_at_commits();
  void look_at_slots(storage::File& file);
  void keep(const LoadedCommits& loaded);
  Status find_steps();
  Status find_steps_in(const DataFileName& name);
  bool is_wanted(const IndexHead& head) const;
  void take(const Index& index);
  Status choose_dataset();
  std::vector<const FoundStep*> steps_to_judge() const;
  Status judge_steps();
  RepairedStep judge(const FoundStep& found);
  Status repair_headers();
  Status repair_header(const DataFileName& name);
  Status write_commits();
  bool has_read(std::uint64_t bytes);

  const std::string folder_;
  const RepairMode mode_;
  const OnProgress& on_progress_;
  ReadProgress progress_;
  bool is_cancelled_ = false;
  RepairReport report_;
  bool needs_tables_ = false;
  std::optional<DatasetId> dataset_;  ///< if a slot told it
  CommitsState known_;
  std::map<std::uint64_t, StepEntry> entries_;  ///< of steps that the new table has
  std::map<std::uint64_t, RepairedStep> fates_;
  FoundSteps found_;
};

Status Repair::look_at_commits() {
  const auto file = storage::open_file(commits_path());
  if (!file) {
    if (file.error().kind() != ErrorClass::kNotFound) return tl::unexpected(file.error());
    report_.damages.push_back(file.error());
    needs_tables_ = true;
    return {};
  }
  const auto loaded = load_commits(**file);
  if (loaded) {
    keep(*loaded);
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
  if (!file) return tl::unexpected(file.error());
  report_.scanned_bytes += (*file)->size().value_or(0);
  return scan_indexes(**file, name,
                      {.has_read = [this](std::uint64_t bytes) { return has_read(bytes); },
                       .is_wanted = [this](const IndexHead& head) { return is_wanted(head); },
                       .found = [this](const Index& index) { take(index); }});
}

/// Of steps that tables tell of nothing more has to be known.
bool Repair::is_wanted(const IndexHead& head) const {
  const IndexPlace& place = head.place;
  return (!dataset_ || place.dataset == *dataset_) && !fates_.contains(place.step) &&
         place.step >= known_.first_step;
}

void Repair::take(const Index& index) {
  const IndexHead& head = index.head();
  const FoundFile file = {.dataset = head.place.dataset,
                          .facts = head.facts,
                          .raw_bytes = head.raw_bytes,
                          .stored_bytes = head.stored_bytes,
                          .index = index.reference()};
  found_[{head.place.step, head.place.group}].insert_or_assign(head.place.file, file);
}

/// Without a slot: the dataset of which there are most indexes.
Status Repair::choose_dataset() {
  std::map<DatasetId, std::uint64_t> counts;
  for (const auto& [place, files] : found_)
    for (const auto& [file, index] : files)
      ++counts[index.dataset];
  if (dataset_) return {};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  if (most == counts.end())
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "repair",
                    .path = folder_,
                    .cause = "no slot and no index says which dataset it is"});
  dataset_ = known_.dataset = most->first;
  for (auto& [place, files] : found_)
    std::erase_if(files, [&](const auto& file) { return file.second.dataset != *dataset_; });
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
      verify_step(StepCatalog(entry, std::move(files)), report,
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

Status Repair::repair_headers() {
  std::vector<DataFileName> names;
  for (const auto& [number, step] : entries_)
    for (const FileEntry& file : step.files)
      names.push_back({step.group, file.file});
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  for (const DataFileName& name : names)
    if (Status done = repair_header(name); !done) return done;
  return {};
}

Status Repair::repair_header(const DataFileName& name) {
  const std::string path = data_path(folder_, name);
  const auto file = storage::open_file(path);
  if (!file) {
    report_.damages.push_back(file.error());
    return {};
  }
  const auto page = read_range(**file, {0, kPageBytes});
  if (!page) return tl::unexpected(page.error());
  const DataHeader expected = {*dataset_, name};
  const auto header = decode_header(*page, path);
  if (header && *header == expected) return {};
  if (!header && header.error().kind() == ErrorClass::kUnsupported)
    return tl::unexpected(header.error());
  report_.damages.push_back(header ? Error({.kind = ErrorClass::kDamage,
                                            .operation = "read header of",
                                            .path = path,
                                            .offset_bytes = 0,
                                            .cause = "it is that of another file"})
                                   : header.error());
  report_.rewritten.push_back(path);
  if (mode_ == RepairMode::kLookOnly) return {};
  const HeaderPage bytes = encode_header(expected);
  const CommitWrite write = {0, {bytes.begin(), bytes.end()}};
  return write_bytes(path, {&write, 1});
}

/// Two generations, so that both slots are whole.
Status Repair::write_commits() {
  report_.rewritten.push_back(commits_path());
  if (mode_ == RepairMode::kLookOnly) return {};
  std::vector<StepEntry> steps;
  for (const auto& [number, step] : entries_)
    steps.push_back(step);
  const std::uint64_t wall_ns = steps.empty() ? 0 : steps.back().wall_ns;
  const CommitPlan first = plan_anew(known_, steps, wall_ns);
  if (Status done = write_bytes(commits_path(), first.writes); !done) return done;
  const auto second = plan_drop(first.after, first.after.first_step, wall_ns);
  if (!second) return tl::unexpected(second.error());
  if (Status done = write_bytes(commits_path(), second->writes); !done) return done;
  return sync_folder(folder_);
}

}  // namespace

Result<RepairReport> repair(const std::string& folder,
                            RepairMode mode,
                            const OnProgress& progress) {
  return Repair(folder, mode, progress).run();
}

}  // namespace forebay::format
