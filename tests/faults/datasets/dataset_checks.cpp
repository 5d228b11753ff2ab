// SPDX-License-Identifier: Apache-2.0
#include "dataset_checks.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "format/verify.hpp"

namespace forebay::faults {

namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

/// Copies the elements that two blocks share, row by row. Returns their number.
std::uint64_t copy_shared(const format::Box& from,
                          std::span<const float> values,
                          const GridBlock& to,
                          std::vector<float>& into) {
  std::vector<std::uint64_t> begin(3);
  std::vector<std::uint64_t> end(3);
  for (std::size_t d = 0; d < 3; ++d) {
    begin[d] = std::max(from.start[d], to.start[d]);
    end[d] = std::min(from.start[d] + from.count[d], to.start[d] + to.count[d]);
  }
  const std::uint64_t row = end[2] - begin[2];
  const auto place = [&](const auto& block, std::uint64_t x, std::uint64_t y) {
    const std::uint64_t line = (x - block.start[0]) * block.count[1] + y - block.start[1];
    return line * block.count[2] + begin[2] - block.start[2];
  };
  for (std::uint64_t x = begin[0]; x < end[0]; ++x)
    for (std::uint64_t y = begin[1]; y < end[1]; ++y)
      std::ranges::copy(values.subspan(place(from, x, y), row),
                        into.begin() + static_cast<std::ptrdiff_t>(place(to, x, y)));
  return (end[0] - begin[0]) * (end[1] - begin[1]) * row;
}

/// Error for a block of the grid with elements that no file has: usually a file is damaged.
Error not_covered(const format::StepCatalog& step) {
  if (!step.errors().empty()) return step.errors().front();
  return Error({.kind = ErrorClass::kNotFound,
                .operation = "read the grid of step " + std::to_string(step.entry().step),
                .cause = "it has elements that no block has"});
}

template <class T>
std::vector<T> elements_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Checks all values of a step.
AssertionResult has_contents(CatalogReader& reader,
                             const TestContents& contents,
                             std::uint64_t step) {
  for (std::uint64_t part = 0; part < contents.parts(); ++part) {
    const auto values = reader.part(step, part);
    if (!values) return AssertionFailure() << values.error().message();
    if (*values != contents.part(step, part))
      return AssertionFailure() << "step " << step << ", part " << part << " has other values";
  }
  const GridBlock whole = contents.share_of(0, 1, 0);
  const auto values = reader.grid(step, whole);
  if (!values) return AssertionFailure() << values.error().message();
  if (*values != contents.grid(step, whole))
    return AssertionFailure() << "step " << step << ", the grid has other values";
  return AssertionSuccess();
}

}  // namespace

Result<CatalogReader> CatalogReader::open(const std::string& path) {
  return format::Catalog::open(path).map(
      [](std::unique_ptr<format::Catalog> catalog) { return CatalogReader(std::move(catalog)); });
}

std::vector<std::uint64_t> CatalogReader::steps() const {
  std::vector<std::uint64_t> numbers;
  for (const format::StepEntry& entry : catalog_->steps())
    numbers.push_back(entry.step);
  return numbers;
}

Result<std::vector<double>> CatalogReader::part(std::uint64_t step, std::uint64_t number) {
  const auto catalog = catalog_->step(step);
  if (!catalog) return failure(catalog.error());
  const auto place = (*catalog)->find_part(kParts, number);
  if (!place) return failure(place.error());
  return reader_.read(**catalog, *place).map(elements_of<double>);
}

Result<std::vector<float>> CatalogReader::grid(std::uint64_t step, const GridBlock& block) {
  const auto catalog = catalog_->step(step);
  if (!catalog) return failure(catalog.error());
  const auto places = (*catalog)->find_blocks(kGrid, {block.start, block.count});
  if (!places) return failure(places.error());
  std::vector<float> values(block.elements());
  std::uint64_t found = 0;
  for (const format::BlockLocation& place : *places) {
    const auto bytes = reader_.read(**catalog, place);
    if (!bytes) return failure(bytes.error());
    const format::Box box = (*catalog)->index(place).box(place.field, place.number);
    found += copy_shared(box, elements_of<float>(*bytes), block, values);
  }
  if (found != values.size()) return failure(not_covered(**catalog));
  return values;
}

AssertionResult is_intact(const std::string& path,
                          const TestContents& contents,
                          std::uint64_t newest,
                          CommitSlots slots,
                          std::uint64_t oldest) {
  const auto report = format::verify(path);
  if (!report) return AssertionFailure() << report.error().message();
  std::uint64_t torn = 0;
  std::set<std::uint64_t> incomplete;
  for (const format::Finding& finding : report->findings) {
    if (finding.step && *finding.step < oldest) {
      incomplete.insert(*finding.step);
      continue;
    }
    const bool is_slot = !finding.step && finding.error.path() == path + "/commits";
    if (is_slot && slots == CommitSlots::kOneMayBeTorn && torn++ == 0) continue;
    return AssertionFailure() << report->findings.size()
                              << " findings: " << finding.error.message();
  }
  auto reader = CatalogReader::open(path);
  if (!reader) return AssertionFailure() << reader.error().message();
  const auto steps = reader->steps();
  if (steps.empty() || steps.back() < newest)
    return AssertionFailure() << "step " << newest << " was acknowledged; the steps are "
                              << testing::PrintToString(steps);
  if (oldest > 0 && steps.front() > oldest)
    return AssertionFailure() << "step " << oldest << " was lost";
  for (const std::uint64_t step : steps) {
    if (incomplete.contains(step)) continue;
    if (const auto same = has_contents(*reader, contents, step); !same) return same;
  }
  return AssertionSuccess();
}

AssertionResult has_no_gap(const std::string& path) {
  const auto reader = CatalogReader::open(path);
  if (!reader) return AssertionFailure() << reader.error().message();
  const auto steps = reader->steps();
  if (steps.empty() || steps.back() - steps.front() + 1 == steps.size()) return AssertionSuccess();
  return AssertionFailure() << "the steps are " << testing::PrintToString(steps);
}

std::vector<std::string> stray_files(const std::string& path) {
  const auto catalog = format::Catalog::open(path);
  if (!catalog) return {catalog.error().message()};
  std::vector<std::string> known{"commits"};
  for (const format::StepEntry& step : (*catalog)->steps())
    for (const format::FileEntry& file : step.files)
      known.push_back(format::to_string(format::DataFileName{step.group, file.file}));
  std::vector<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    const bool is_known = std::ranges::find(known, name) != known.end();
    if (!is_known && !name.starts_with("owner-new-")) others.push_back(name);
  }
  return others;
}

}  // namespace forebay::faults
