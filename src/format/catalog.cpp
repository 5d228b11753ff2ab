// SPDX-License-Identifier: Apache-2.0
#include "format/catalog.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "format/damage.hpp"
#include "format/file_bytes.hpp"
#include "format/open_commits.hpp"

namespace forebay::format {
namespace {

/// Steps whose indexes are kept for the next who asks.
constexpr std::size_t kStepsKept = 4;

constexpr std::uint32_t kNone = UINT32_MAX;

std::string step_text(std::uint64_t step) { return "step " + std::to_string(step); }

/// The index that the table tells of: the bytes it promised, of the step and file it named.
Result<std::shared_ptr<const Index>> load_index(storage::File& file,
                                                const IndexPlace& place,
                                                const Reference& reference) {
  const Source source = {"index of " + step_text(place.step), file.path(), reference.offset};
  if (reference.bytes > kIndexBytesMax) return source.damage(0, "it cannot be that long");
  const auto bytes = read_range(file, {reference.offset, reference.bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() < reference.bytes)
    return source.failed(ErrorClass::kShortFile, bytes->size(),
                         std::to_string(reference.bytes - bytes->size()) + " bytes are missing");
  auto index = Index::decode(*bytes, reference.offset, file.path());
  if (!index)
    return source.failed(index.error().kind(), 0,
                         step_text(place.step) + ": " + index.error().cause());
  if (index->head().place != place || index->reference() != reference)
    return source.damage(0, "it is whole, and not the one that the step table tells of");
  return std::make_shared<const Index>(std::move(*index));
}

}  // namespace

std::string data_path(const std::string& folder, const DataFileName& name) {
  return folder + "/" + text_of(name);
}

StepFile load_step_file(const std::string& folder,
                        const DatasetId& dataset,
                        const StepEntry& step,
                        const FileEntry& entry) {
  StepFile result = {.entry = entry, .path = data_path(folder, {step.group, entry.file})};
  auto file = storage::open_file(result.path);
  if (!file) {
    result.damage = file.error();
    return result;
  }
  result.file = std::move(*file);
  auto index = load_index(*result.file, {dataset, step.step, step.group, entry.file}, entry.index);
  if (index) {
    result.index = std::move(*index);
  } else {
    result.damage = index.error();
  }
  return result;
}

Result<std::shared_ptr<storage::File>> file_of(const StepFile& file) {
  if (file.file) return file.file;
  return storage::open_file(file.path).map([](std::unique_ptr<storage::File> opened) {
    return std::shared_ptr<storage::File>(std::move(opened));
  });
}

std::vector<StepFile> load_step_files(const std::string& folder,
                                      const DatasetId& dataset,
                                      const StepEntry& step) {
  std::vector<StepFile> files;
  files.reserve(step.files.size());
  for (const FileEntry& entry : step.files) {
    files.push_back(load_step_file(folder, dataset, step, entry));
    if (step.files.size() > kFilesKeptOpenMax) files.back().file.reset();
  }
  return files;
}

StepCatalog::StepCatalog(StepEntry entry, std::vector<StepFile> files)
    : entry_(std::move(entry)), files_(std::move(files)) {
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    if (files_[file].damage) damages_.push_back(*files_[file].damage);
    if (files_[file].index) add_fields(file);
  }
}

void StepCatalog::add_fields(std::uint32_t file) {
  const auto fields = files_[file].index->fields();
  for (std::uint32_t number = 0; number < fields.size(); ++number) {
    const IndexField& field = fields[number];
    const auto at = std::ranges::lower_bound(
        fields_, field.definition.name, {},
        [](const StepField& known) -> const std::string& { return known.definition.name; });
    const auto position = at - fields_.begin();
    const auto numbers = field_numbers_.begin() + position;
    if (at == fields_.end() || at->definition.name != field.definition.name) {
      fields_.insert(at, {.definition = field.definition});
      field_numbers_.insert(numbers, std::vector<std::uint32_t>(files_.size(), kNone));
    } else if (at->definition != field.definition) {
      damages_.push_back(
          Source{"index of " + step_text(entry_.step), files_[file].path,
                 files_[file].entry.index.offset}
              .damage(0, "field " + field.definition.name +
                             " has another type, byte order, kind or shape in other files")
              .value());
      continue;
    }
    field_numbers_[static_cast<std::size_t>(position)][file] = number;
    StepField& known = fields_[static_cast<std::size_t>(position)];
    known.blocks += field.blocks;
    for (std::uint64_t i = 0; i < field.blocks; ++i) {
      const Block block = files_[file].index->block(number, i);
      known.raw_bytes += block.raw_bytes;
      known.stored_bytes += block.stored_bytes;
    }
  }
}

const StepField* StepCatalog::find_field(std::string_view name) const noexcept {
  for (const StepField& field : fields_)
    if (field.definition.name == name) return &field;
  return nullptr;
}

Error StepCatalog::missing(std::string_view field, const std::string& what) const {
  const std::string wanted = step_text(entry_.step) + ", field " + std::string(field) + what;
  for (const StepFile& file : files_) {
    if (!file.damage) continue;
    return Error({.kind = file.damage->kind(),
                  .operation = "find " + wanted + " in",
                  .path = file.path,
                  .offset_bytes = file.damage->offset_bytes(),
                  .error_number = file.damage->error_number(),
                  .cause = "it is in no other file, and this one's index cannot be read" +
                           (file.damage->cause().empty() ? "" : ": " + file.damage->cause())});
  }
  return Error({.kind = ErrorClass::kNotFound,
                .operation = "find " + wanted,
                .path = files_.empty() ? "" : files_.front().path,
                .cause = "no file of the step has it"});
}

Result<BlockPlace> StepCatalog::find_part(std::string_view field, std::uint64_t part) const {
  const StepField* known = find_field(field);
  for (std::uint32_t file = 0; known != nullptr && file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    if (number == kNone) continue;
    if (const auto found = files_[file].index->find_part(number, part))
      return BlockPlace{file, number, *found};
  }
  return tl::unexpected(missing(field, ", part " + std::to_string(part)));
}

std::vector<BlockPlace> StepCatalog::blocks(std::string_view field) const {
  std::vector<BlockPlace> places;
  const StepField* known = find_field(field);
  if (known == nullptr) return places;
  places.reserve(known->blocks);
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    const std::uint64_t count = number == kNone ? 0 : files_[file].index->fields()[number].blocks;
    for (std::uint64_t i = 0; i < count; ++i)
      places.push_back({file, number, i});
  }
  return places;
}

std::vector<std::pair<BlockPlace, BlockPlace>> StepCatalog::doubled(std::string_view field) const {
  if (files_.size() < 2) return {};
  std::vector<std::pair<std::uint64_t, BlockPlace>> keys;
  for (const BlockPlace& place : blocks(field))
    keys.emplace_back(block(place).key, place);
  const auto falls = [](const auto& key, const auto& next) { return next.first <= key.first; };
  if (std::ranges::adjacent_find(keys, falls) == keys.end()) return {};
  std::ranges::sort(keys, {}, [](const auto& key) {
    return std::tuple(key.first, key.second.file, key.second.number);
  });
  std::vector<std::pair<BlockPlace, BlockPlace>> found;
  std::size_t first = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[first].first != keys[i].first) {
      first = i;
    } else {
      found.emplace_back(keys[first].second, keys[i].second);
    }
  }
  return found;
}

Result<std::vector<BlockPlace>> StepCatalog::intersecting(std::string_view field,
                                                          const Box& box) const {
  const StepField* known = find_field(field);
  if (known == nullptr) return tl::unexpected(missing(field, ""));
  const FieldDefinition& definition = known->definition;
  bool is_inside = definition.kind == FieldKind::kGlobal &&
                   box.start.size() == definition.dimensions &&
                   box.count.size() == definition.dimensions;
  for (std::size_t d = 0; is_inside && d < definition.dimensions; ++d)
    is_inside =
        box.start[d] <= definition.shape[d] && box.count[d] <= definition.shape[d] - box.start[d];
  if (!is_inside)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "find a box of field " + std::string(field),
                    .cause = "it does not lie in a global array of that name"});
  std::vector<BlockPlace> places;
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    if (number == kNone) continue;
    for (const std::uint64_t i : files_[file].index->intersecting(number, box))
      places.push_back({file, number, i});
  }
  return places;
}

const Index& StepCatalog::index(const BlockPlace& place) const noexcept {
  FOREBAY_ASSERT(place.file < files_.size());
  FOREBAY_ASSERT(files_[place.file].index != nullptr);
  return *files_[place.file].index;
}

Block StepCatalog::block(const BlockPlace& place) const noexcept {
  return index(place).block(place.field, place.number);
}

std::string StepCatalog::describe(const BlockPlace& place) const {
  const FieldDefinition& field = index(place).fields()[place.field].definition;
  const std::string key = std::to_string(block(place).key);
  const bool is_part = field.kind == FieldKind::kParts;
  return step_text(entry_.step) + ", field " + field.name +
         (is_part ? ", part " : ", block at element ") + key;
}

Catalog::Catalog(std::string folder, LoadedCommits commits)
    : folder_(std::move(folder)), commits_(std::move(commits)) {}

Result<std::unique_ptr<Catalog>> Catalog::open(const std::string& folder) {
  const auto file = open_commits(folder);
  if (!file) return tl::unexpected(file.error());
  auto commits = load_commits(**file);
  if (!commits) return tl::unexpected(commits.error());
  return std::unique_ptr<Catalog>(new Catalog(folder, std::move(*commits)));
}

const StepEntry* Catalog::find_step(std::uint64_t step) const noexcept {
  const auto found = std::ranges::lower_bound(commits_.steps, step, {}, &StepEntry::step);
  return found != commits_.steps.end() && found->step == step ? &*found : nullptr;
}

Result<std::shared_ptr<const StepCatalog>> Catalog::step(std::uint64_t step) {
  const StepEntry* entry = find_step(step);
  if (entry == nullptr)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "find step " + std::to_string(step) + " of",
                    .path = folder_,
                    .cause = commits_.steps.empty()
                                 ? "it has no steps"
                                 : "it has " + std::to_string(commits_.steps.size()) +
                                       " steps, of which the newest is " +
                                       std::to_string(commits_.steps.back().step)});
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      kept_, [&](const auto& catalog) { return catalog->entry().step == step; });
  if (known != kept_.end()) {
    std::rotate(known, known + 1, kept_.end());
    return kept_.back();
  }
  std::vector<StepFile> files = load_step_files(folder_, dataset(), *entry);
  if (kept_.size() == kStepsKept) kept_.erase(kept_.begin());
  kept_.push_back(std::make_shared<const StepCatalog>(*entry, std::move(files)));
  return kept_.back();
}

}  // namespace forebay::format
