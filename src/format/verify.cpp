// SPDX-License-Identifier: Apache-2.0
#include "format/verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "format/block_reader.hpp"
#include "format/contested.hpp"
#include "format/data_header.hpp"
#include "format/file_bytes.hpp"
#include "format/index_scan.hpp"

namespace forebay::format {
namespace {

/// What several threads found; progress is told by one of them at a time.
class Ledger {
 public:
  /// `has_read` is told the bytes of each piece, and says whether to go on.
  explicit Ledger(std::function<bool(std::uint64_t bytes)> has_read)
      : has_read_(std::move(has_read)) {}

  void add(Finding finding) {
    const std::lock_guard lock(mutex_);
    findings_.push_back(std::move(finding));
  }
  void read(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!has_read_(bytes)) is_cancelled_ = true;
  }
  bool is_cancelled() const { return is_cancelled_; }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const std::function<bool(std::uint64_t bytes)> has_read_;
  std::mutex mutex_;
  std::vector<Finding> findings_;
  std::atomic<bool> is_cancelled_ = false;
};

Finding finding_of(const StepCatalog& step, const BlockPlace& place, Error error) {
  return {.error = std::move(error),
          .step = step.entry().step,
          .field = step.index(place).fields()[place.field].definition.name,
          .key = step.block(place).key};
}

/// Blocks of one file of a step, in the order in which they lie.
std::vector<BlockPlace> blocks_of_file(const StepCatalog& step, std::uint32_t file) {
  std::vector<BlockPlace> places;
  const Index& index = *step.files()[file].index;
  places.reserve(index.blocks());
  for (std::uint32_t field = 0; field < index.fields().size(); ++field)
    for (std::uint64_t i = 0; i < index.fields()[field].blocks; ++i)
      places.push_back({file, field, i});
  std::ranges::sort(places, {}, [&](const BlockPlace& place) { return step.block(place).offset; });
  return places;
}

Error damage_of(const StepCatalog& step, const BlockPlace& place, std::string cause) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "verify " + step.describe(place) + " in",
                .path = step.files()[place.file].path,
                .offset_bytes = step.block(place).offset,
                .cause = std::move(cause)});
}

/// The pieces of one block, and that their checksums make that of the block.
class BlockCheck {
 public:
  BlockCheck(const StepCatalog& step, Ledger& ledger) : step_(step), ledger_(ledger) {}

  /// The bytes that are whole.
  std::uint64_t check(const BlockPlace& place) {
    const Block block = step_.block(place);
    const BlockSeed seed = step_.index(place).seed(place.field, place.number);
    const bool is_empty = block.raw_bytes == 0;
    const bool has_sums = is_empty || !block.piece_checksums.empty();
    if (has_sums && block_checksum(seed, block.piece_checksums) != block.checksum)
      ledger_.add(finding_of(step_, place, damage_of(step_, place, "its checksum does not fit")));
    std::uint64_t whole = 0;
    for (std::uint64_t piece = 0; piece < block.pieces() && !ledger_.is_cancelled(); ++piece) {
      const ByteRange raw = block.raw_range(piece);
      bytes_.resize(raw.size);
      if (const Status read = reader_.read_piece(step_, place, piece, bytes_); read) {
        whole += raw.size;
      } else {
        Finding finding = finding_of(step_, place, read.error());
        finding.bytes = raw.size;
        ledger_.add(std::move(finding));
      }
      ledger_.read(raw.size);
    }
    return whole;
  }

 private:
  const StepCatalog& step_;
  Ledger& ledger_;
  BlockReader reader_;
  std::vector<std::byte> bytes_;
};

void check_overlaps(const StepCatalog& step, std::span<const BlockPlace> places, Ledger& ledger) {
  std::uint64_t end = 0;
  std::optional<BlockPlace> last;
  for (const BlockPlace& place : places) {
    const Block block = step.block(place);
    if (block.stored_bytes == 0) continue;
    if (last && block.offset < end) {
      const std::string other = step.describe(*last);
      ledger.add(finding_of(step, place, damage_of(step, place, "it overlaps " + other)));
    }
    if (end < block.offset + block.stored_bytes) {
      end = block.offset + block.stored_bytes;
      last = place;
    }
  }
}

void check_header(const StepCatalog& step,
                  const DatasetId& dataset,
                  const StepFile& file,
                  Ledger& ledger) {
  const auto note = [&](Error error) {
    ledger.add({.error = std::move(error), .step = step.entry().step});
  };
  const auto opened = file_of(file);
  if (!opened) return note(opened.error());
  const auto page = read_range(**opened, {0, kPageBytes});
  if (!page) return note(page.error());
  const auto header = decode_header(*page, file.path);
  if (!header) return note(header.error());
  const DataHeader expected = {dataset, {step.entry().group, file.entry.file}};
  if (*header == expected) return;
  note(Error({.kind = ErrorClass::kDamage,
              .operation = "read header of",
              .path = file.path,
              .offset_bytes = 0,
              .cause = "it is that of " + text_of(header->name) + " of dataset " +
                       text_of(header->dataset)}));
}

void check_twice(const StepCatalog& step, Ledger& ledger) {
  if (step.files().size() < 2) return;
  for (const StepField& field : step.fields())
    for (const auto& [first, other] : step.doubled(field.definition.name)) {
      const std::string cause = "it is in " + step.files()[first.file].path + ", too";
      ledger.add(finding_of(step, other, damage_of(step, other, cause)));
    }
}

/// Boxes that share elements; those with the same start were told already. One pair of each field:
/// where one block is in the wrong place there may be many.
void check_boxes(const StepCatalog& step, Ledger& ledger) {
  for (const StepField& field : step.fields()) {
    const auto overlap = find_overlap(step, field);
    if (!overlap || step.block(overlap->first).key == step.block(overlap->second).key) continue;
    const auto& [first, other] = *overlap;
    const std::string cause = "it has elements of " + step.describe(first) + " in " +
                              step.files()[first.file].path + ", too";
    ledger.add(finding_of(step, other, damage_of(step, other, cause)));
  }
}

/// One step: threads take its files one after another.
class StepCheck {
 public:
  StepCheck(const StepCatalog& step, const DatasetId& dataset, Ledger& ledger, VerifyReport& report)
      : step_(step), dataset_(dataset), ledger_(ledger), report_(report) {}

  void run(unsigned threads) {
    for (const Error& damage : step_.damages())
      ledger_.add({.error = damage, .step = step_.entry().step});
    std::vector<std::thread> others;
    const std::size_t files = step_.files().size();
    for (unsigned i = 1; i < std::min<std::size_t>(threads, files); ++i)
      others.emplace_back([this] { take_files(); });
    take_files();
    for (std::thread& other : others)
      other.join();
    check_twice(step_, ledger_);
    check_boxes(step_, ledger_);
    report_.raw_bytes += raw_bytes_;
    report_.blocks += blocks_;
    report_.files += files;
    ++report_.steps;
  }

 private:
  void take_files() {
    for (std::uint32_t file = next_++; file < step_.files().size(); file = next_++)
      check_file(file);
  }
  void check_file(std::uint32_t file) {
    const StepFile& of_step = step_.files()[file];
    if (of_step.file || of_step.index) check_header(step_, dataset_, of_step, ledger_);
    if (!of_step.index) return;
    const std::vector<BlockPlace> places = blocks_of_file(step_, file);
    check_overlaps(step_, places, ledger_);
    BlockCheck check(step_, ledger_);
    for (const BlockPlace& place : places)
      raw_bytes_ += check.check(place);
    blocks_ += places.size();
  }

  const StepCatalog& step_;
  const DatasetId& dataset_;
  Ledger& ledger_;
  VerifyReport& report_;
  std::atomic<std::uint32_t> next_ = 0;
  std::atomic<std::uint64_t> raw_bytes_ = 0;
  std::atomic<std::uint64_t> blocks_ = 0;
};

/// Whoever writes a dataset touches its `owner` every few seconds.
bool is_being_written(const std::string& folder) {
  constexpr std::chrono::minutes kSilence(1);
  std::error_code error;
  const auto touched =
      std::filesystem::last_write_time(folder + "/" + std::string(kOwnerName), error);
  return !error && std::filesystem::file_time_type::clock::now() - touched < kSilence;
}

/// An empty slot is right while no step was published; who writes the first one has indexes, too.
std::optional<Error> check_empty_slot(const Catalog& catalog) {
  const auto& slot = catalog.commits().empty_slot;
  if (!slot || is_being_written(catalog.folder())) return std::nullopt;
  const auto holder = find_file_with_index(catalog.folder(), catalog.dataset());
  if (!holder) return std::nullopt;
  const auto now = Catalog::open(catalog.folder());
  if (!now || !(*now)->commits().empty_slot) return std::nullopt;
  return Error(
      {.kind = slot->kind(),
       .operation = slot->operation(),
       .path = slot->path(),
       .offset_bytes = slot->offset_bytes(),
       .cause = "it is empty, as in a new dataset, and " + *holder +
                " has an index: a step was lost, or not published before its writer died"});
}

/// Threads find in any order; people read by place.
void sort_findings(std::vector<Finding>& findings) {
  std::ranges::sort(findings, {}, [](const Finding& finding) {
    return std::tuple(finding.step.value_or(0), finding.error.path(),
                      finding.error.offset_bytes().value_or(0), finding.error.cause());
  });
}

/// A header that several steps share is told once.
void drop_repeats(std::vector<Finding>& findings) {
  std::set<std::string> headers;
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.error.operation().starts_with("read header") &&
           !headers.insert(finding.error.message()).second;
  });
}

std::vector<Finding> check_commits(const Catalog& catalog) {
  std::vector<Error> damages = catalog.commits().damages;
  if (auto damage = check_empty_slot(catalog)) damages.push_back(std::move(*damage));
  std::vector<Finding> findings;
  for (Error& damage : damages)
    findings.push_back({.error = std::move(damage)});
  return findings;
}

Result<std::vector<StepEntry>> wanted_steps(Catalog& catalog, std::optional<std::uint64_t> only) {
  if (!only) return std::vector<StepEntry>(catalog.steps().begin(), catalog.steps().end());
  const StepEntry* const entry = catalog.find_step(*only);
  if (entry != nullptr) return std::vector{*entry};
  // Says which steps there are.
  return tl::unexpected(catalog.step(*only).error());
}

/// True if a writer has dropped the step since the catalog was opened: its files may serve others.
bool was_dropped(const Catalog& catalog, std::uint64_t step) {
  const auto now = Catalog::open(catalog.folder());
  return now && (*now)->dataset() == catalog.dataset() && (*now)->commits().state.first_step > step;
}

tl::unexpected<Error> dropped_meanwhile(const std::string& folder, std::uint64_t step) {
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "verify step " + std::to_string(step) + " of",
                  .path = folder,
                  .cause = "it was dropped meanwhile"});
}

void add_counts(VerifyReport& report, const VerifyReport& of_step) {
  report.steps += of_step.steps;
  report.files += of_step.files;
  report.blocks += of_step.blocks;
  report.raw_bytes += of_step.raw_bytes;
}

}  // namespace

std::vector<Finding> verify_step(const StepCatalog& step,
                                 const DatasetId& dataset,
                                 VerifyReport& report,
                                 const std::function<bool(std::uint64_t bytes)>& has_read) {
  Ledger ledger(has_read);
  StepCheck(step, dataset, ledger, report).run(1);
  std::vector<Finding> findings = ledger.take();
  sort_findings(findings);
  return findings;
}

Result<VerifyReport> verify(const std::string& folder, const VerifyOptions& options) {
  const auto catalog = Catalog::open(folder);
  if (!catalog) return tl::unexpected(catalog.error());
  const auto wanted = wanted_steps(**catalog, options.step);
  if (!wanted) return tl::unexpected(wanted.error());
  ReadProgress progress;
  for (const StepEntry& step : *wanted)
    progress.all_bytes += step.raw_bytes;
  const auto has_read = [&](std::uint64_t bytes) {
    progress.done_bytes += bytes;
    return !options.progress || options.progress(progress);
  };
  VerifyReport report = {.findings = check_commits(**catalog)};
  std::vector<Finding> found;
  for (const StepEntry& entry : *wanted) {
    const auto step = (*catalog)->step(entry.step);
    if (!step) return tl::unexpected(step.error());
    Ledger ledger(has_read);
    VerifyReport of_step;
    StepCheck(**step, (*catalog)->dataset(), ledger, of_step).run(options.threads);
    if (ledger.is_cancelled())
      return failure({.kind = ErrorClass::kCancelled, .operation = "verify", .path = folder});
    std::vector<Finding> findings = ledger.take();
    if (!findings.empty() && was_dropped(**catalog, entry.step)) continue;
    add_counts(report, of_step);
    std::ranges::move(findings, std::back_inserter(found));
  }
  if (options.step && report.steps == 0) return dropped_meanwhile(folder, *options.step);
  sort_findings(found);
  drop_repeats(found);
  std::ranges::move(found, std::back_inserter(report.findings));
  return report;
}

}  // namespace forebay::format
