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

Result<std::optional<model::Machine>> read_machine(const std::string& name_or_path) {
  if (name_or_path.empty()) return std::nullopt;
  const auto folders = model::machine_folders(process_environment());
  return model::load_machine(name_or_path, folders).map([](model::Machine machine) {
    return std::optional(std::move(machine));
  });
}

model::Layout layout_of(const storage::File& file, const model::Machine& machine) {
  model::Layout layout = model::layout_of_new_file(machine, 0);
  const auto stripes = storage::stripes_of(file);
  if (!stripes) return layout;
  layout.stripe_bytes = stripes->stripe_bytes;
  layout.stripe_count = std::min(stripes->server_count, machine.server_count());
  return layout;
}

}  // namespace

KnownStorage::KnownStorage(const std::string& machine) : machine_(read_machine(machine)) {}

bool KnownStorage::knows(const storage::File& file) const {
  return (machine_ && machine_->has_value()) || storage::machine_text_of(file);
}

Status KnownStorage::add_to(ReadFacts& facts, const storage::File& file) const {
  if (!machine_) return tl::unexpected<Error>(machine_.error());
  std::optional<model::Machine> machine = *machine_;
  if (const auto text = storage::machine_text_of(file)) {
    // A file system that describes itself badly is read as one that does not.
    if (auto told = model::parse_machine(*text, file.path())) machine = std::move(*told);
  }
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
