// SPDX-License-Identifier: Apache-2.0
// The public classes for stored datasets: pass arguments to the step, and make a request from the
// result.
#include <forebay/dataset_reader.hpp>

#include <cstring>
#include <utility>

#include "restore/dataset_read_request.hpp"
#include "restore/step_reader_core.hpp"

namespace forebay {

namespace {

/// Element by element: fills are small compared with the memory.
void fill_with(std::span<std::byte> into, std::span<const std::byte> element) {
  for (std::size_t at = 0; at < into.size(); at += element.size())
    std::memcpy(into.data() + at, element.data(), element.size());
}

/// Calls use(CopyRun) for the memory of all elements of a selection, which is not empty.
template <class F>
void for_each_run(const Subarray& selection, const restore::SelectionRequest& request, F use) {
  const format::Box box{selection.start, selection.count};
  format::BoxCopy(box, box, request.memory, request.element_bytes)
      .for_each({0, request.list.bytes}, use);
}

Future<ByteCount> start_read(const std::shared_ptr<restore::StepReaderCore>& step,
                             Result<restore::BlockRequestList> list,
                             std::span<std::byte> into) {
  if (!list) return list.error();
  if (const Status process_status = step->origin().check("read", step->directory());
      !process_status)
    return process_status.error();
  auto read = std::make_unique<restore::DatasetReadRequest>(step, std::move(*list), into);
  if (read->start()) return read->take();
  return Future<ByteCount>(std::move(read));
}

/// Splits `parts` into as many consecutive runs as there are ranks, and returns that of `rank`.
std::vector<Part> share_of_rank(const std::vector<Part>& parts,
                                std::uint64_t rank,
                                std::uint64_t ranks) {
  const std::uint64_t each = parts.size() / ranks;
  const std::uint64_t longer = parts.size() % ranks;
  const std::uint64_t first = rank * each + std::min(rank, longer);
  const std::uint64_t count = each + (rank < longer ? 1 : 0);
  const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::string_view name_of(FieldKind kind) noexcept {
  return kind == FieldKind::kGlobal ? "global" : "parts";
}

std::uint64_t StepReader::number() const noexcept { return core_->catalog().entry().step; }

std::chrono::system_clock::time_point StepReader::begin_time() const noexcept {
  const std::chrono::nanoseconds since(core_->catalog().entry().wall_ns);
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

std::span<const FieldInfo> StepReader::fields() const noexcept { return core_->fields(); }

const FieldInfo* StepReader::find(std::string_view field) const noexcept {
  return core_->find(field);
}

std::span<const Attribute> StepReader::attributes() const noexcept { return core_->attributes(); }

std::span<const Attribute> StepReader::dataset_attributes() const noexcept {
  return core_->dataset_attributes();
}

std::span<const Error> StepReader::errors() const noexcept { return core_->errors(); }

Result<std::vector<Part>> StepReader::parts(std::string_view field) const {
  return core_->parts(field);
}

Result<std::vector<Part>> StepReader::parts_of_rank(std::string_view field,
                                                    std::uint32_t rank,
                                                    std::uint32_t ranks) const {
  if (rank >= ranks) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "split parts among ranks",
                    .cause = "ranks are counted from 0; this is rank " + std::to_string(rank) +
                             " of " + std::to_string(ranks)});
  }
  return core_->complete_parts(field).map(
      [&](const std::vector<Part>& parts) { return share_of_rank(parts, rank, ranks); });
}

bool StepReader::has(std::string_view field, Part part) const {
  const FieldInfo* const known = core_->find(field);
  return known != nullptr && known->kind == FieldKind::kParts &&
         core_->catalog().find_part(field, part.number).has_value();
}

Result<Shape> StepReader::shape(std::string_view field, Part part) const {
  return core_->shape(field, part);
}

Result<std::uint64_t> StepReader::element_count(std::string_view field, Part part) const {
  return core_->element_counts(field, std::span(&part, 1)).map([](const auto& each) {
    return each.front();
  });
}

Result<std::vector<std::uint64_t>> StepReader::element_count(std::string_view field,
                                                             std::span<const Part> parts) const {
  return core_->element_counts(field, parts);
}

Future<ByteCount> StepReader::read_part(const ReadTarget& target,
                                        Part part,
                                        const MemoryLayout& layout) const {
  if (layout.is_packed()) return read_parts(target, std::span(&part, 1));
  const restore::FieldRequest request{target.field, target.type, target.into.size()};
  return start_read(core_, core_->request_part(request, part, layout), target.into);
}

Future<ByteCount> StepReader::read_parts(const ReadTarget& target,
                                         std::span<const Part> parts) const {
  return start_read(core_,
                    core_->request_parts({target.field, target.type, target.into.size()}, parts),
                    target.into);
}

Future<ByteCount> StepReader::read_range(const ReadTarget& target,
                                         Part part,
                                         std::uint64_t first_element) const {
  const restore::FieldRequest request{target.field, target.type, target.into.size()};
  return start_read(core_, core_->request_range(request, part, first_element), target.into);
}

Future<ByteCount> StepReader::read_selection(const ReadTarget& target,
                                             const Subarray& selection,
                                             const MemoryLayout& layout,
                                             std::span<const std::byte> fill) const {
  const restore::FieldRequest request{target.field, target.type, target.into.size()};
  auto requested = core_->request_selection(request, selection, layout);
  if (!requested) return requested.error();
  if (!requested->is_covered) {
    if (fill.empty()) return core_->not_covered_error(request);
    for_each_run(selection, *requested, [&](const format::CopyRun& run) {
      fill_with(target.into.subspan(run.memory_offset, run.bytes), fill);
    });
  }
  return start_read(core_, std::move(requested->list), target.into);
}

const std::string& DatasetReader::path() const noexcept { return core_->directory(); }

std::span<const std::uint64_t> DatasetReader::steps() const noexcept {
  return core_->step_numbers();
}

std::optional<std::uint64_t> DatasetReader::newest_step() const noexcept {
  if (steps().empty()) return std::nullopt;
  return steps().back();
}

std::span<const Error> DatasetReader::errors() const noexcept { return core_->steps().errors; }

Result<std::vector<Attribute>> DatasetReader::attributes() const {
  const auto newest = newest_step();
  if (!newest) return std::vector<Attribute>();
  const auto step = core_->step(*newest);
  if (!step) return failure(step.error());
  for (const format::StepFile& file : (*step)->catalog().files()) {
    const std::optional<Error>& error = file.error ? file.error : file.attributes_error;
    if (error) return failure((*step)->translate_error(*error));
  }
  return (*step)->dataset_attributes();
}

Result<StepReader> DatasetReader::open_step(std::uint64_t number) const {
  return core_->step(number).map(
      [](std::shared_ptr<restore::StepReaderCore> core) { return StepReader(std::move(core)); });
}

}  // namespace forebay
