// SPDX-License-Identifier: Apache-2.0
#include "runtime/known_storage.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"
#include "model/layout.hpp"
#include "model/reading.hpp"
#include "storage/file_system.hpp"
#include "storage/stripes.hpp"

namespace forebay {

namespace {

/// One session does not fill the memory of a Runtime with what is under way.
constexpr std::uint64_t kBusyShare = 4;
/// All output streams of a Runtime have no more under way on one storage, whatever it could take.
constexpr std::uint64_t kWritingBytesMax = 256_MiB;

bool is_memory(storage::FileSystem kind) {
  return kind == storage::FileSystem::kTmpfs || kind == storage::FileSystem::kMemory;
}

model::Layout layout_of(const storage::File& file, const model::Machine& machine) {
  model::Layout layout = model::layout_of_new_file(machine, 0);
  const auto stripes = storage::stripes_of(file);
  if (!stripes) return layout;
  layout.stripe_bytes = stripes->stripe_bytes;
  layout.stripe_count = std::min(stripes->server_count, machine.server_count());
  if (stripes->first_server) layout.first_server = *stripes->first_server % machine.server_count();
  return layout;
}

}  // namespace

Result<KnownStorage::Known> KnownStorage::read_machine(const std::string& name_or_path) {
  if (name_or_path.empty()) return Known();
  const auto folders = model::machine_folders(process_environment());
  return model::load_machine(name_or_path, folders).map([](model::Machine machine) -> Known {
    return std::make_shared<const model::Machine>(std::move(machine));
  });
}

KnownStorage::KnownStorage(const std::string& machine) : machine_(read_machine(machine)) {}

bool KnownStorage::knows(const storage::File& file) const {
  return machine_ && believed(storage::place_of(file)).machine;
}

Result<KnownStorage::Known> KnownStorage::told_by(const storage::StoragePlace& place) const {
  auto text = storage::machine_text_of(place);
  if (!text) return failure(text.error());
  if (!*text) return Known();
  const std::lock_guard lock(mutex_);
  if (**text == told_text_) return told_;
  told_ = model::parse_machine(**text, storage::kMachineAttribute)
              .map([](model::Machine machine) -> Known {
                return std::make_shared<const model::Machine>(std::move(machine));
              });
  told_text_ = std::move(**text);
  return told_;
}

/// What a file system says of itself is nearer to its files than what the options say.
KnownStorage::Believed KnownStorage::believed(const storage::StoragePlace& place) const {
  const Known& named = *machine_;
  const auto told = told_by(place);
  if (told && *told) {
    Believed chosen{.machine = *told,
                    .reason = "storage as its file system says: " + (*told)->name};
    if (named && *named != **told) chosen.reason += ", not as the options say: " + named->name;
    return chosen;
  }
  Believed chosen{.machine = named, .reason = {}};
  if (named) chosen.reason = "storage as the options say: " + named->name;
  if (told) return chosen;
  // A file system that describes itself badly is read as one that does not.
  if (named) chosen.reason += "; ";
  chosen.reason += "what its file system says of itself is not used: " + told.error().message();
  return chosen;
}

Status KnownStorage::add_to(ReadFacts& facts, const storage::File& file) const {
  if (!machine_) return failure(machine_.error());
  if (is_memory(file.file_system())) return {};
  Believed storage = believed(storage::place_of(file));
  facts.storage_reason = std::move(storage.reason);
  if (!storage.machine) return {};
  const model::Machine& machine = *storage.machine;
  const std::uint64_t total = std::max(facts.total_bytes, facts.available_bytes);
  const model::Layout layout = layout_of(file, machine);
  const model::TransferAdvice advice =
      model::advise_reading(machine, layout, facts.extent.size, total / kBusyShare);
  facts.request_bytes = advice.request_bytes;
  facts.requests = advice.requests;
  facts.stripe_bytes = layout.stripe_bytes;
  facts.servers = layout.stripe_count;
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

/// The folder itself, or the nearest above it that is there; empty if this process may not look.
Descriptor open_nearest(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(path, ignored);
  while (place.has_relative_path() && !std::filesystem::exists(place, ignored))
    place = place.parent_path();
  return Descriptor(
      uninterrupted([&] { return ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

}  // namespace

Result<std::shared_ptr<const model::Machine>> KnownStorage::add_to(write::WriteFacts& facts,
                                                                   const std::string& path) const {
  if (!machine_) return failure(machine_.error());
  const Descriptor folder = open_nearest(path);
  const storage::StoragePlace place{
      folder.get(), folder ? storage::file_system_of(folder.get()) : storage::FileSystem::kOther,
      path};
  facts.storage = kind_of(place.file_system);
  if (facts.storage == write::StorageKind::kMemory) return Known();
  Believed storage = believed(place);
  facts.storage_reason = std::move(storage.reason);
  facts.machine = storage.machine.get();
  if (storage.machine) facts.storage = write::StorageKind::kParallel;
  return storage.machine;
}

Result<stream::StorageNeeds> KnownStorage::needs_of_writing(
    const storage::StoragePlace& place) const {
  if (!machine_) return failure(machine_.error());
  if (is_memory(place.file_system)) return stream::StorageNeeds{};
  Believed storage = believed(place);
  stream::StorageNeeds needs{.reason = std::move(storage.reason)};
  if (!storage.machine) return needs;
  const auto advice = model::advise_writing(*storage.machine, kWritingBytesMax);
  needs.busy_bytes = advice.requests * advice.request_bytes;
  return needs;
}

}  // namespace forebay
