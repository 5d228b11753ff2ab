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
#include "format/data_header.hpp"
#include "format/index_scan.hpp"
#include "format/overlapping_blocks.hpp"
#include "format/read_range.hpp"

namespace forebay::format {
namespace {

/// Findings of several threads; the progress callback runs in one thread at a time.
class FindingCollector {
 public:
  /// `on_bytes_read` receives the bytes of each piece; false cancels.
  explicit FindingCollector(std::function<bool(std::uint64_t bytes)> on_bytes_read)
      : on_bytes_read_(std::move(on_bytes_read)) {}

  void add(Finding finding) {
    const std::lock_guard lock(mutex_);
    findings_.push_back(std::move(finding));
  }
  void add_read_bytes(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!on_bytes_read_(bytes)) is_cancelled_ = true;
  }
  bool is_cancelled() const { return is_cancelled_; }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const std::function<bool(std::uint64_t bytes)> on_bytes_read_;
  std::mutex mutex_;
  std::vector<Finding> findings_;
  std::atomic<bool> is_cancelled_ = false;
};

Finding make_finding(const StepCatalog& step, const BlockLocation& location, Error error) {
  return {.error = std::move(error),
          .step = step.entry().step,
          .field = step.index(location).fields()[location.field].definition.name,
          .key = step.block(location).key};
}

/// Blocks of one file of a step, in the order of offsets.
std::vector<BlockLocation> blocks_of_file(const StepCatalog& step, std::uint32_t file) {
  std::vector<BlockLocation> locations;
  const Index& index = *step.files()[file].index;
  locations.reserve(index.blocks());
  for (std::uint32_t field = 0; field < index.fields().size(); ++field)
    for (std::uint64_t i = 0; i < index.fields()[field].blocks; ++i)
      locations.push_back({file, field, i});
  std::ranges::sort(locations, {},
                    [&](const BlockLocation& location) { return step.block(location).offset; });
  return locations;
}

Error block_error(const StepCatalog& step, const BlockLocation& location, std::string cause) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "verify " + step.describe(location) + " in",
                .path = step.files()[location.file].path,
                .offset_bytes = step.block(location).offset,
                .cause = std::move(cause)});
}

/// Verifies the pieces of one block, and their checksums against that of the block.
class BlockVerifier {
 public:
  BlockVerifier(const StepCatalog& step, FindingCollector& collector)
      : step_(step), collector_(collector) {}

  /// Returns the number of valid bytes.
  std::uint64_t check(const BlockLocation& location) {
    const Block block = step_.block(location);
    const BlockSeed seed = step_.index(location).seed(location.field, location.number);
    const bool is_empty = block.raw_bytes == 0;
    const bool has_sums = is_empty || !block.piece_checksums.empty();
    if (has_sums && block_checksum(seed, block.piece_checksums) != block.checksum)
      collector_.add(
          make_finding(step_, location, block_error(step_, location, "its checksum does not fit")));
    std::uint64_t whole = 0;
    for (std::uint64_t piece = 0; piece < block.pieces() && !collector_.is_cancelled(); ++piece) {
      const ByteRange raw = block.raw_range(piece);
      bytes_.resize(raw.size);
      if (const Status read = reader_.read_piece(step_, location, piece, bytes_); read) {
        whole += raw.size;
      } else {
        Finding finding = make_finding(step_, location, read.error());
        finding.bytes = raw.size;
        collector_.add(std::move(finding));
      }
      collector_.add_read_bytes(raw.size);
    }
    return whole;
  }

 private:
  const StepCatalog& step_;
  FindingCollector& collector_;
  BlockReader reader_;
  std::vector<std::byte> bytes_;
};

void check_range_overlaps(const StepCatalog& step,
                          std::span<const BlockLocation> locations,
                          FindingCollector& collector) {
  std::uint64_t end = 0;
  std::optional<BlockLocation> last;
  for (const BlockLocation& location : locations) {
    const Block block = step.block(location);
    if (block.stored_bytes == 0) continue;
    if (last && block.offset < end) {
      const std::string other = step.describe(*last);
      collector.add(
          make_finding(step, location, block_error(step, location, "it overlaps " + other)));
    }
    if (end < block.offset + block.stored_bytes) {
      end = block.offset + block.stored_bytes;
      last = location;
    }
  }
}

void check_header(const StepCatalog& step,
                  const DatasetId& dataset,
                  const StepFile& file,
                  FindingCollector& collector) {
  const auto note = [&](Error error) {
    collector.add({.error = std::move(error), .step = step.entry().step});
  };
  const auto opened = open_step_file(file);
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
              .cause = "it belongs to " + to_string(header->name) + " of dataset " +
                       to_string(header->dataset)}));
}

void check_duplicates(const StepCatalog& step, FindingCollector& collector) {
  if (step.files().size() < 2) return;
  for (const StepField& field : step.fields())
    for (const auto& [first, other] : step.duplicate_blocks(field.definition.name)) {
      const std::string cause = "it is also in " + step.files()[first.file].path;
      collector.add(make_finding(step, other, block_error(step, other, cause)));
    }
}

/// Boxes that share elements; those with the same start are reported already. Reports one pair for
/// each field: a single misplaced block may cause many.
void check_box_overlaps(const StepCatalog& step, FindingCollector& collector) {
  for (const StepField& field : step.fields()) {
    const auto overlap = find_overlapping_boxes(step, field);
    if (!overlap || step.block(overlap->first).key == step.block(overlap->second).key) continue;
    const auto& [first, other] = *overlap;
    const std::string cause =
        "it shares elements with " + step.describe(first) + " in " + step.files()[first.file].path;
    collector.add(make_finding(step, other, block_error(step, other, cause)));
  }
}

/// One step: threads take its files one after another.
class StepVerifier {
 public:
  StepVerifier(const StepCatalog& step,
               const DatasetId& dataset,
               FindingCollector& collector,
               VerifyReport& report)
      : step_(step), dataset_(dataset), collector_(collector), report_(report) {}

  void run(unsigned threads) {
    for (const Error& damage : step_.errors())
      collector_.add({.error = damage, .step = step_.entry().step});
    std::vector<std::thread> others;
    const std::size_t files = step_.files().size();
    for (unsigned i = 1; i < std::min<std::size_t>(threads, files); ++i)
      others.emplace_back([this] { verify_files(); });
    verify_files();
    for (std::thread& other : others)
      other.join();
    check_duplicates(step_, collector_);
    check_box_overlaps(step_, collector_);
    report_.raw_bytes += raw_bytes_;
    report_.blocks += blocks_;
    report_.files += files;
    ++report_.steps;
  }

 private:
  void verify_files() {
    for (std::uint32_t file = next_file_++; file < step_.files().size(); file = next_file_++)
      check_file(file);
  }
  void check_file(std::uint32_t file) {
    const StepFile& of_step = step_.files()[file];
    if (of_step.file || of_step.index) check_header(step_, dataset_, of_step, collector_);
    if (!of_step.index) return;
    const std::vector<BlockLocation> locations = blocks_of_file(step_, file);
    check_range_overlaps(step_, locations, collector_);
    BlockVerifier check(step_, collector_);
    for (const BlockLocation& location : locations)
      raw_bytes_ += check.check(location);
    blocks_ += locations.size();
  }

  const StepCatalog& step_;
  const DatasetId& dataset_;
  FindingCollector& collector_;
  VerifyReport& report_;
  std::atomic<std::uint32_t> next_file_ = 0;
  std::atomic<std::uint64_t> raw_bytes_ = 0;
  std::atomic<std::uint64_t> blocks_ = 0;
};

/// A writer updates `owner` of its dataset every few seconds.
bool is_being_written(const std::string& directory) {
  constexpr std::chrono::minutes kHeartbeatTimeout(1);
  std::error_code error;
  const auto touched =
      std::filesystem::last_write_time(directory + "/" + std::string(kOwnerName), error);
  return !error && std::filesystem::file_time_type::clock::now() - touched < kHeartbeatTimeout;
}

/// An empty slot is right while no step is published, but the writer of the first step also has
/// indexes.
std::optional<Error> check_empty_slot(const Catalog& catalog) {
  const auto& slot = catalog.commits().empty_slot;
  if (!slot || is_being_written(catalog.directory())) return std::nullopt;
  const auto holder = find_file_with_index(catalog.directory(), catalog.dataset());
  if (!holder) return std::nullopt;
  const auto now = Catalog::open(catalog.directory());
  if (!now || !(*now)->commits().empty_slot) return std::nullopt;
  return Error(
      {.kind = slot->kind(),
       .operation = slot->operation(),
       .path = slot->path(),
       .offset_bytes = slot->offset_bytes(),
       .cause = "it is empty, as in a new dataset, but " + *holder +
                " has an index: a step was lost, or its writer died before publishing it"});
}

/// Threads add findings in any order; reports are sorted by place.
void sort_findings(std::vector<Finding>& findings) {
  std::ranges::sort(findings, {}, [](const Finding& finding) {
    return std::tuple(finding.step.value_or(0), finding.error.path(),
                      finding.error.offset_bytes().value_or(0), finding.error.cause());
  });
}

/// A header that several steps share is reported once.
void remove_repeated_headers(std::vector<Finding>& findings) {
  std::set<std::string> headers;
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.error.operation().starts_with("read header") &&
           !headers.insert(finding.error.message()).second;
  });
}

std::vector<Finding> check_commits(const Catalog& catalog) {
  std::vector<Error> damages = catalog.commits().errors;
  if (auto damage = check_empty_slot(catalog)) damages.push_back(std::move(*damage));
  std::vector<Finding> findings;
  for (Error& damage : damages)
    findings.push_back({.error = std::move(damage)});
  return findings;
}

Result<std::vector<StepEntry>> selected_steps(Catalog& catalog, std::optional<std::uint64_t> only) {
  if (!only) return std::vector<StepEntry>(catalog.steps().begin(), catalog.steps().end());
  const StepEntry* const entry = catalog.find_step(*only);
  if (entry != nullptr) return std::vector{*entry};
  // This Error names the existing steps.
  return tl::unexpected(catalog.step(*only).error());
}

/// True if a writer has dropped the step since the catalog was opened: its files may be reused.
bool is_dropped(const Catalog& catalog, std::uint64_t step) {
  const auto now = Catalog::open(catalog.directory());
  return now && (*now)->dataset() == catalog.dataset() && (*now)->commits().state.first_step > step;
}

tl::unexpected<Error> dropped_step_error(const std::string& directory, std::uint64_t step) {
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "verify step " + std::to_string(step) + " of",
                  .path = directory,
                  .cause = "it was dropped during the verification"});
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
                                 const std::function<bool(std::uint64_t bytes)>& on_bytes_read) {
  FindingCollector collector(on_bytes_read);
  StepVerifier(step, dataset, collector, report).run(1);
  std::vector<Finding> findings = collector.take();
  sort_findings(findings);
  return findings;
}

Result<VerifyReport> verify(const std::string& directory, const VerifyOptions& options) {
  const auto catalog = Catalog::open(directory);
  if (!catalog) return tl::unexpected(catalog.error());
  const auto requested = selected_steps(**catalog, options.step);
  if (!requested) return tl::unexpected(requested.error());
  ReadProgress progress;
  for (const StepEntry& step : *requested)
    progress.total_bytes += step.raw_bytes;
  const auto on_bytes_read = [&](std::uint64_t bytes) {
    progress.done_bytes += bytes;
    return !options.progress || options.progress(progress);
  };
  VerifyReport report = {.findings = check_commits(**catalog)};
  std::vector<Finding> found;
  for (const StepEntry& entry : *requested) {
    const auto step = (*catalog)->step(entry.step);
    if (!step) return tl::unexpected(step.error());
    FindingCollector collector(on_bytes_read);
    VerifyReport of_step;
    StepVerifier(**step, (*catalog)->dataset(), collector, of_step).run(options.threads);
    if (collector.is_cancelled())
      return failure({.kind = ErrorClass::kCancelled, .operation = "verify", .path = directory});
    std::vector<Finding> findings = collector.take();
    if (!findings.empty() && is_dropped(**catalog, entry.step)) continue;
    add_counts(report, of_step);
    std::ranges::move(findings, std::back_inserter(found));
  }
  if (options.step && report.steps == 0) return dropped_step_error(directory, *options.step);
  sort_findings(found);
  remove_repeated_headers(found);
  std::ranges::move(found, std::back_inserter(report.findings));
  return report;
}

}  // namespace forebay::format
