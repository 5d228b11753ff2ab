// SPDX-License-Identifier: Apache-2.0
#include "runtime/known_storage.hpp"

#include <algorithm>
#include <utility>

#include "model/layout.hpp"
#include "model/reading.hpp"
#include "storage/stripes.hpp"

namespace forebay {

namespace {

/// One session does not fill the memory of a Runtime with what is under way.
constexpr std::uint64_t kBusyShare = 4;

model::Layout layout_of(const storage::File& file, const model::Machine& machine) {
  model::Layout layout = model::layout_of_new_file(machine, 0);
  const auto stripes = storage::stripes_of(file);
  if (!stripes) return layout;
  layout.stripe_bytes = stripes->stripe_bytes;
  layout.stripe_count = std::min(stripes->server_count, machine.server_count());
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
  return (machine_ && *machine_) || storage::machine_text_of(file);
}

/// A file system that describes itself badly is read as one that does not.
KnownStorage::Known KnownStorage::told_by(const storage::File& file) const {
  auto text = storage::machine_text_of(file);
  if (!text) return nullptr;
  const std::lock_guard lock(mutex_);
  if (*text == told_text_) return told_;
  auto machine = model::parse_machine(*text, file.path());
  told_ = machine ? std::make_shared<const model::Machine>(std::move(*machine)) : nullptr;
  told_text_ = std::move(*text);
  return told_;
}

Status KnownStorage::add_to(ReadFacts& facts, const storage::File& file) const {
  if (!machine_) return tl::unexpected<Error>(machine_.error());
  Known machine = told_by(file);
  if (!machine) machine = *machine_;
  const bool in_memory = file.file_system() == storage::FileSystem::kTmpfs ||
                         file.file_system() == storage::FileSystem::kMemory;
  if (!machine || in_memory) return {};
  const std::uint64_t total = std::max(facts.total_bytes, facts.available_bytes);
  const model::Layout layout = layout_of(file, *machine);
  const model::ReadingAdvice advice =
      model::advise_reading(*machine, layout, facts.extent.size, total / kBusyShare);
  facts.request_bytes = advice.request_bytes;
  facts.requests = advice.requests;
  facts.stripe_bytes = layout.stripe_bytes;
  facts.servers = layout.stripe_count;
  return {};
}

}  // namespace forebay
