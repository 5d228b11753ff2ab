// SPDX-License-Identifier: Apache-2.0
// The public face of stored datasets: hands what is asked for to the step, and makes a request of
// what comes back.
#include <forebay/stored_dataset.hpp>

#include <cstring>
#include <utility>

#include "restore/step_core.hpp"
#include "restore/stored_read.hpp"

namespace forebay {

namespace {

/// Element by element; memory is large, and fills are small.
void fill_with(std::span<std::byte> into, std::span<const std::byte> element) {
  for (std::size_t at = 0; at < into.size(); at += element.size())
    std::memcpy(into.data() + at, element.data(), element.size());
}

Future<ByteCount> start(const std::shared_ptr<restore::StepCore>& step,
                        Result<restore::WantList> list,
                        std::span<std::byte> into) {
  if (!list) return list.error();
  if (const Status here = step->origin().check("read", step->folder()); !here) return here.error();
  auto read = std::make_unique<restore::StoredRead>(step, std::move(*list), into);
  if (read->begin()) return read->take();
  return Future<ByteCount>(std::move(read));
}

/// `all`, cut into as many runs as there are ranks.
std::vector<Part> share_of(const std::vector<Part>& all, std::uint64_t rank, std::uint64_t ranks) {
  const std::uint64_t each = all.size() / ranks;
  const std::uint64_t longer = all.size() % ranks;
  const std::uint64_t first = rank * each + std::min(rank, longer);
  const std::uint64_t count = each + (rank < longer ? 1 : 0);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::string_view name_of(FieldKind kind) noexcept {
  return kind == FieldKind::kGlobal ? "global" : "parts";
}

std::uint64_t StoredStep::number() const noexcept { return core_->catalog().entry().step; }

std::chrono::system_clock::time_point StoredStep::written_at() const noexcept {
  const std::chrono::nanoseconds since(core_->catalog().entry().wall_ns);
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

std::span<const StoredField> StoredStep::fields() const noexcept { return core_->fields(); }

const StoredField* StoredStep::find(std::string_view field) const noexcept {
  return core_->find(field);
}

std::span<const Error> StoredStep::damages() const noexcept { return core_->damages(); }

Result<std::vector<Part>> StoredStep::parts(std::string_view field) const {
  return core_->parts(field);
}

Result<std::vector<Part>> StoredStep::parts_of_rank(std::string_view field,
                                                    std::uint32_t rank,
                                                    std::uint32_t ranks) const {
  if (rank >= ranks) {
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "share out parts",
         .cause = "there is no rank " + std::to_string(rank) + " of " + std::to_string(ranks)});
  }
  return core_->all_parts(field).map(
      [&](const std::vector<Part>& parts) { return share_of(parts, rank, ranks); });
}

bool StoredStep::has(std::string_view field, Part part) const {
  const StoredField* const known = core_->find(field);
  return known != nullptr && known->kind == FieldKind::kParts &&
         core_->catalog().find_part(field, part.number).has_value();
}

Result<Shape> StoredStep::shape(std::string_view field, Part part) const {
  return core_->shape(field, part);
}

Result<std::uint64_t> StoredStep::elements(std::string_view field, Part part) const {
  return core_->elements(field, std::span(&part, 1)).map([](const auto& each) {
    return each.front();
  });
}

Result<std::vector<std::uint64_t>> StoredStep::elements(std::string_view field,
                                                        std::span<const Part> parts) const {
  return core_->elements(field, parts);
}

Future<ByteCount> StoredStep::read_parts(const Target& target, std::span<const Part> parts) const {
  return start(core_, core_->want_parts({target.field, target.type, target.into.size()}, parts),
               target.into);
}

Future<ByteCount> StoredStep::read_range(const Target& target,
                                         Part part,
                                         std::uint64_t first_element) const {
  const restore::Wanted wanted{target.field, target.type, target.into.size()};
  return start(core_, core_->want_range(wanted, part, first_element), target.into);
}

Future<ByteCount> StoredStep::read_region(const Target& target,
                                          const Subarray& region,
                                          std::span<const std::byte> fill) const {
  const restore::Wanted wanted{target.field, target.type, target.into.size()};
  bool covered = false;
  auto list = core_->want_region(wanted, region, covered);
  if (list && !covered) {
    if (fill.empty()) return core_->not_covered(wanted);
    fill_with(target.into, fill);
  }
  return start(core_, std::move(list), target.into);
}

const std::string& StoredDataset::path() const noexcept { return core_->folder(); }

std::span<const std::uint64_t> StoredDataset::steps() const noexcept { return core_->numbers(); }

std::optional<std::uint64_t> StoredDataset::newest_step() const noexcept {
  if (steps().empty()) return std::nullopt;
  return steps().back();
}

std::span<const Error> StoredDataset::damages() const noexcept { return core_->steps().damages; }

Result<StoredStep> StoredDataset::step(std::uint64_t number) const {
  return core_->step(number).map(
      [](std::shared_ptr<restore::StepCore> core) { return StoredStep(std::move(core)); });
}

}  // namespace forebay
