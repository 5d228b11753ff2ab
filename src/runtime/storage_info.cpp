// SPDX-License-Identifier: Apache-2.0
#include "runtime/storage_info.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"
#include "model/layout.hpp"
#include "model/transfer_advice.hpp"
#include "storage/file_system.hpp"
#include "storage/stripe_layout.hpp"

namespace forebay {

namespace {

/// Requests in flight of one session use at most 1 / this of a Runtime's memory.
constexpr std::uint64_t kBusyShare = 4;
/// Upper limit of the bytes that all output streams of a Runtime have in flight on one storage.
constexpr std::uint64_t kWritingBytesMax = 256_MiB;

bool is_memory_file_system(storage::FileSystem kind) {
  return kind == storage::FileSystem::kTmpfs || kind == storage::FileSystem::kMemory;
}

model::Layout layout_of(const storage::File& file, const model::Machine& machine) {
  model::Layout layout = model::layout_of_new_file(machine, 0);
  const auto stripes = storage::stripe_layout_of(file);
  if (!stripes) return layout;
  layout.stripe_bytes = stripes->stripe_bytes;
  layout.stripe_count = std::min(stripes->stripe_count, machine.server_count());
  if (stripes->first_server) layout.first_server = *stripes->first_server % machine.server_count();
  return layout;
}

}  // namespace

Result<StorageInfoSource::MachinePtr> StorageInfoSource::read_machine(
    const std::string& name_or_path) {
  if (name_or_path.empty()) return MachinePtr();
  const auto directories = model::machine_directories(process_environment());
  return model::load_machine(name_or_path, directories)
      .map([](model::Machine machine) -> MachinePtr {
        return std::make_shared<const model::Machine>(std::move(machine));
      });
}

StorageInfoSource::StorageInfoSource(const std::string& machine)
    : machine_(read_machine(machine)) {}

bool StorageInfoSource::has_info(const storage::File& file) const {
  return machine_ && info_for(storage::storage_object_of(file)).machine;
}

Result<StorageInfoSource::MachinePtr> StorageInfoSource::file_system_machine(
    const storage::StorageObject& place) const {
  auto text = storage::read_machine_attribute(place);
  if (!text) return failure(text.error());
  if (!*text) return MachinePtr();
  const std::lock_guard lock(mutex_);
  if (**text == cached_text_) return cached_machine_;
  cached_machine_ = model::parse_machine(**text, storage::kMachineAttribute)
                        .map([](model::Machine machine) -> MachinePtr {
                          return std::make_shared<const model::Machine>(std::move(machine));
                        });
  cached_text_ = std::move(**text);
  return cached_machine_;
}

/// A description by the file system is closer to its files than the options.
StorageInfoSource::StorageInfo StorageInfoSource::info_for(
    const storage::StorageObject& place) const {
  const MachinePtr& named = *machine_;
  const auto described = file_system_machine(place);
  if (described && *described) {
    StorageInfo chosen{.machine = *described,
                       .reason = "storage described by its file system: " + (*described)->name};
    if (named && *named != **described) chosen.reason += ", not by the options: " + named->name;
    return chosen;
  }
  StorageInfo chosen{.machine = named, .reason = {}};
  if (named) chosen.reason = "storage described by the options: " + named->name;
  if (described) return chosen;
  // A file system with an invalid description counts as one without.
  if (named) chosen.reason += "; ";
  chosen.reason += "the description by its file system is not used: " + described.error().message();
  return chosen;
}

namespace {

std::uint32_t server_requests_of(const model::Machine& machine, const model::Layout& layout) {
  const std::uint32_t servers = machine.server_count();
  std::uint32_t requests = 0;
  for (std::uint32_t i = 0; i < std::min(layout.stripe_count, servers); ++i)
    requests += machine.server((layout.first_server + i) % servers).concurrency;
  return requests;
}

}  // namespace

Status StorageInfoSource::add_facts(ReadFacts& facts, const storage::File& file) const {
  if (!machine_) return failure(machine_.error());
  if (is_memory_file_system(file.file_system())) return {};
  StorageInfo storage = info_for(storage::storage_object_of(file));
  facts.storage_reason = std::move(storage.reason);
  if (!storage.machine) return {};
  const model::Machine& machine = *storage.machine;
  const std::uint64_t total = std::max(facts.total_bytes, facts.available_bytes);
  const model::Layout layout = layout_of(file, machine);
  const model::TransferAdvice advice =
      model::advise_reading(machine, layout, facts.extent.size, total / kBusyShare);
  facts.request_bytes = advice.request_bytes;
  facts.queue_depth = advice.requests;
  facts.server_requests = server_requests_of(machine, layout);
  facts.stripe_bytes = layout.stripe_bytes;
  facts.stripe_count = layout.stripe_count;
  return {};
}

namespace {

write::StorageKind kind_of(storage::FileSystem system) {
  switch (system) {
    case storage::FileSystem::kTmpfs:
    case storage::FileSystem::kMemory:
      return write::StorageKind::kMemory;
    case storage::FileSystem::kExt:
    case storage::FileSystem::kXfs:
    case storage::FileSystem::kBtrfs:
    case storage::FileSystem::kOverlay:
      return write::StorageKind::kLocal;
    case storage::FileSystem::kNfs:
      return write::StorageKind::kNetwork;
    case storage::FileSystem::kLustre:
    case storage::FileSystem::kCluster:
      return write::StorageKind::kParallel;
    case storage::FileSystem::kFuse:
    case storage::FileSystem::kOther:
      return write::StorageKind::kUnknown;
  }
  return write::StorageKind::kUnknown;
}

/// Opens the directory, or its nearest existing ancestor. Empty if this process has no access.
Descriptor open_nearest_directory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(path, ignored);
  while (place.has_relative_path() && !std::filesystem::exists(place, ignored))
    place = place.parent_path();
  return Descriptor(
      retry_on_eintr([&] { return ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

}  // namespace

Result<std::shared_ptr<const model::Machine>> StorageInfoSource::add_facts(
    write::WriteFacts& facts, const std::string& path) const {
  if (!machine_) return failure(machine_.error());
  const Descriptor directory = open_nearest_directory(path);
  const storage::StorageObject place{
      directory.get(),
      directory ? storage::file_system_of(directory.get()) : storage::FileSystem::kOther, path};
  facts.file_system = place.file_system;
  facts.storage = kind_of(place.file_system);
  if (facts.storage == write::StorageKind::kMemory) return MachinePtr();
  StorageInfo storage = info_for(place);
  facts.storage_reason = std::move(storage.reason);
  facts.machine = storage.machine.get();
  if (storage.machine) facts.storage = write::StorageKind::kParallel;
  return storage.machine;
}

Result<stream::StorageNeeds> StorageInfoSource::write_needs(
    const storage::StorageObject& place) const {
  if (!machine_) return failure(machine_.error());
  if (is_memory_file_system(place.file_system)) return stream::StorageNeeds{};
  StorageInfo storage = info_for(place);
  stream::StorageNeeds needs{.reason = std::move(storage.reason)};
  if (!storage.machine) return needs;
  const auto advice = model::advise_writing(*storage.machine, kWritingBytesMax);
  needs.saturation_bytes = advice.requests * advice.request_bytes;
  return needs;
}

}  // namespace forebay
