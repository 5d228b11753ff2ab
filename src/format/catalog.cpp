// SPDX-License-Identifier: Apache-2.0
#include "format/catalog.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "format/checksum.hpp"
#include "format/decode_context.hpp"
#include "format/open_commits.hpp"
#include "format/read_range.hpp"

namespace forebay::format {
namespace {

/// Steps whose indexes are cached for later calls.
constexpr std::size_t kCachedStepsMax = 4;

constexpr std::uint32_t kNoField = UINT32_MAX;

std::string step_text(std::uint64_t step) { return "step " + std::to_string(step); }

/// The index that the step table refers to: its bytes, and its step and file.
Result<std::shared_ptr<const Index>> load_index(storage::File& file,
                                                const IndexId& id,
                                                const Reference& reference) {
  const DecodeContext context = {"index of " + step_text(id.step), file.path(), reference.offset};
  if (reference.bytes > kIndexBytesMax) return context.damage_error(0, "it cannot be that long");
  const auto bytes = read_range(file, {reference.offset, reference.bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() < reference.bytes)
    return context.make_error(
        ErrorClass::kShortFile, bytes->size(),
        std::to_string(reference.bytes - bytes->size()) + " bytes are missing");
  auto index = Index::decode(*bytes, reference.offset, file.path());
  if (!index)
    return context.make_error(index.error().kind(), 0,
                              step_text(id.step) + ": " + index.error().cause());
  if (index->header().id != id || index->reference() != reference)
    return context.damage_error(0, "it is valid, but not the index in the step table");
  return std::make_shared<const Index>(std::move(*index));
}

Result<AttributeTable> read_attributes(const StepFile& file) {
  const IndexHeader& header = file.index->header();
  const Reference& place = header.attributes;
  const DecodeContext context = {"attributes of " + step_text(header.id.step), file.path,
                                 place.offset};
  const auto bytes = read_range(*file.file, {place.offset, place.bytes});
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() < place.bytes)
    return context.make_error(ErrorClass::kShortFile, bytes->size(),
                              std::to_string(place.bytes - bytes->size()) + " bytes are missing");
  if (metadata_checksum(kAttributesMagic, *bytes) != place.checksum)
    return context.damage_error(0, "their checksum does not fit: some of their " +
                                       std::to_string(place.bytes) + " bytes were changed");
  return AttributeTable::decode(*bytes, file.path, place.offset);
}

/// Reads the attributes that belong to the index of the file.
void load_attributes(StepFile& file) {
  if (file.index->header().attributes.bytes == 0) return;
  auto attributes = read_attributes(file);
  if (attributes) {
    file.attributes = std::move(*attributes);
  } else {
    file.attributes_error = attributes.error();
  }
}

}  // namespace

std::string data_path(const std::string& directory, const DataFileName& name) {
  return directory + "/" + to_string(name);
}

StepFile load_step_file(const std::string& directory,
                        const DatasetId& dataset,
                        const StepEntry& step,
                        const FileEntry& entry) {
  StepFile result = {.entry = entry, .path = data_path(directory, {step.group, entry.file})};
  auto file = storage::open_file(result.path);
  if (!file) {
    result.error = file.error();
    return result;
  }
  result.file = std::move(*file);
  auto index = load_index(*result.file, {dataset, step.step, step.group, entry.file}, entry.index);
  if (index) {
    result.index = std::move(*index);
    load_attributes(result);
  } else {
    result.error = index.error();
  }
  return result;
}

Result<std::shared_ptr<storage::File>> open_step_file(const StepFile& file) {
  if (file.file) return file.file;
  return storage::open_file(file.path).map([](std::unique_ptr<storage::File> opened) {
    return std::shared_ptr<storage::File>(std::move(opened));
  });
}

std::vector<StepFile> load_step_files(const std::string& directory,
                                      const DatasetId& dataset,
                                      const StepEntry& step) {
  std::vector<StepFile> files;
  files.reserve(step.files.size());
  for (const FileEntry& entry : step.files) {
    files.push_back(load_step_file(directory, dataset, step, entry));
    if (step.files.size() > kOpenFilesMax) files.back().file.reset();
  }
  return files;
}

StepCatalog::StepCatalog(StepEntry entry, std::vector<StepFile> files)
    : entry_(std::move(entry)), files_(std::move(files)) {
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    if (files_[file].error) errors_.push_back(*files_[file].error);
    if (files_[file].index) add_fields(file);
  }
  add_attributes();
}

/// Merges the attributes of all files, and frees those of each file. One contradiction of a file is
/// an Error: a program that sets other values on each rank would cause many.
void StepCatalog::add_attributes() {
  std::map<AttributeKey, std::uint32_t> first_files;
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    if (files_[file].attributes_error) errors_.push_back(*files_[file].attributes_error);
    bool is_reported = false;
    const AttributeTable table = std::exchange(files_[file].attributes, {});
    for (const auto& [key, value] : table.entries()) {
      const auto [known, is_new] = attributes_.try_emplace(key, value);
      if (is_new) first_files.emplace(key, file);
      if (known->second == value || std::exchange(is_reported, true)) continue;
      const DecodeContext context = {"attributes of " + step_text(entry_.step), files_[file].path,
                                     files_[file].index->header().attributes.offset};
      const std::string other = files_[first_files.at(key)].path;
      errors_.push_back(
          context.damage_error(0, to_string(key) + " has another value in " + other).value());
    }
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
      field_numbers_.insert(numbers, std::vector<std::uint32_t>(files_.size(), kNoField));
    } else if (at->definition != field.definition) {
      errors_.push_back(
          DecodeContext{"index of " + step_text(entry_.step), files_[file].path,
                        files_[file].entry.index.offset}
              .damage_error(0, "field " + field.definition.name +
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

Error StepCatalog::not_found_error(std::string_view field, const std::string& what) const {
  const std::string requested = step_text(entry_.step) + ", field " + std::string(field) + what;
  for (const StepFile& file : files_) {
    if (!file.error) continue;
    return Error({.kind = file.error->kind(),
                  .operation = "find " + requested + " in",
                  .path = file.path,
                  .offset_bytes = file.error->offset_bytes(),
                  .error_number = file.error->error_number(),
                  .cause = "no other file has it, and the index of this file cannot be read" +
                           (file.error->cause().empty() ? "" : ": " + file.error->cause())});
  }
  return Error({.kind = ErrorClass::kNotFound,
                .operation = "find " + requested,
                .path = files_.empty() ? "" : files_.front().path,
                .cause = "no file of the step has it"});
}

Result<BlockLocation> StepCatalog::find_part(std::string_view field, std::uint64_t part) const {
  const StepField* known = find_field(field);
  for (std::uint32_t file = 0; known != nullptr && file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    if (number == kNoField) continue;
    if (const auto found = files_[file].index->find_part(number, part))
      return BlockLocation{file, number, *found};
  }
  return tl::unexpected(not_found_error(field, ", part " + std::to_string(part)));
}

std::vector<BlockLocation> StepCatalog::blocks(std::string_view field) const {
  std::vector<BlockLocation> locations;
  const StepField* known = find_field(field);
  if (known == nullptr) return locations;
  locations.reserve(known->blocks);
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    const std::uint64_t count =
        number == kNoField ? 0 : files_[file].index->fields()[number].blocks;
    for (std::uint64_t i = 0; i < count; ++i)
      locations.push_back({file, number, i});
  }
  return locations;
}

std::vector<std::pair<BlockLocation, BlockLocation>> StepCatalog::duplicate_blocks(
    std::string_view field) const {
  if (files_.size() < 2) return {};
  std::vector<std::pair<std::uint64_t, BlockLocation>> keys;
  for (const BlockLocation& location : blocks(field))
    keys.emplace_back(block(location).key, location);
  const auto is_not_ascending = [](const auto& key, const auto& next) {
    return next.first <= key.first;
  };
  if (std::ranges::adjacent_find(keys, is_not_ascending) == keys.end()) return {};
  std::ranges::sort(keys, {}, [](const auto& key) {
    return std::tuple(key.first, key.second.file, key.second.number);
  });
  std::vector<std::pair<BlockLocation, BlockLocation>> found;
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

Result<std::vector<BlockLocation>> StepCatalog::find_blocks(std::string_view field,
                                                            const Box& box) const {
  const StepField* known = find_field(field);
  if (known == nullptr) return tl::unexpected(not_found_error(field, ""));
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
                    .cause = "it is not inside a global array of that name"});
  std::vector<BlockLocation> locations;
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    const std::uint32_t number =
        field_numbers_[static_cast<std::size_t>(known - fields_.data())][file];
    if (number == kNoField) continue;
    for (const std::uint64_t i : files_[file].index->find_blocks(number, box))
      locations.push_back({file, number, i});
  }
  return locations;
}

const Index& StepCatalog::index(const BlockLocation& location) const noexcept {
  FOREBAY_ASSERT(location.file < files_.size());
  FOREBAY_ASSERT(files_[location.file].index != nullptr);
  return *files_[location.file].index;
}

Block StepCatalog::block(const BlockLocation& location) const noexcept {
  return index(location).block(location.field, location.number);
}

std::string StepCatalog::describe(const BlockLocation& location) const {
  const FieldDefinition& field = index(location).fields()[location.field].definition;
  const std::string key = std::to_string(block(location).key);
  const bool is_part = field.kind == FieldKind::kParts;
  return step_text(entry_.step) + ", field " + field.name +
         (is_part ? ", part " : ", block at element ") + key;
}

Catalog::Catalog(std::string directory, LoadedCommits commits)
    : directory_(std::move(directory)), commits_(std::move(commits)) {}

Result<std::unique_ptr<Catalog>> Catalog::open(const std::string& directory) {
  const auto file = open_commits(directory);
  if (!file) return tl::unexpected(file.error());
  auto commits = load_commits(**file);
  if (!commits) return tl::unexpected(commits.error());
  return std::unique_ptr<Catalog>(new Catalog(directory, std::move(*commits)));
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
                    .path = directory_,
                    .cause = commits_.steps.empty()
                                 ? "it has no steps"
                                 : "it has " + std::to_string(commits_.steps.size()) +
                                       " steps; the newest is " +
                                       std::to_string(commits_.steps.back().step)});
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      cached_steps_, [&](const auto& catalog) { return catalog->entry().step == step; });
  if (known != cached_steps_.end()) {
    std::rotate(known, known + 1, cached_steps_.end());
    return cached_steps_.back();
  }
  std::vector<StepFile> files = load_step_files(directory_, dataset(), *entry);
  if (cached_steps_.size() == kCachedStepsMax) cached_steps_.erase(cached_steps_.begin());
  cached_steps_.push_back(std::make_shared<const StepCatalog>(*entry, std::move(files)));
  return cached_steps_.back();
}

}  // namespace forebay::format
