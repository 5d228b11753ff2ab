// SPDX-License-Identifier: Apache-2.0
// Collects the facts of each directory with the calls that sessions use, and applies the rules of
// the library.
#include "tools/doctor/backends.hpp"

#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "model/profile_path.hpp"
#include "runtime/options.hpp"
#include "runtime/storage_info.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "stream/in_flight_limit.hpp"
#include "stream/write_access.hpp"
#include "tools/doctor/unnamed_temporary_file.hpp"
#include "tools/probe/file_system.hpp"

namespace forebay::doctor {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// The facts without a test file, where the directory is not writable: all file systems but memory
/// are assumed to support direct access.
storage::AccessFacts assumed_facts(const fs::path& directory) {
  const Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const storage::FileSystem kind = storage::file_system_of(opened.get());
  return {.file_system = kind, .is_direct_supported = kind != storage::FileSystem::kTmpfs};
}

storage::AccessFacts probe_facts(const fs::path& directory, const StorageInfoSource& known) {
  const UnnamedTemporaryFile made(directory);
  if (made.error_number() != 0) return assumed_facts(directory);
  const auto file = storage::open_file(made.path());
  if (!file) return assumed_facts(directory);
  storage::AccessFacts facts = storage::access_facts(**file, {0, 0});
  facts.is_storage_known = known.has_info(**file);
  return facts;
}

json to_json(const storage::BackendDecision& decision) {
  json others = json::array();
  for (const auto& other : decision.rejected)
    others.push_back({{"name", other.name}, {"reason", other.reason}});
  return {{"chosen", decision.chosen.empty() ? json() : json(decision.chosen)},
          {"reason", decision.reason},
          {"others", std::move(others)}};
}

json line_of(const fs::path& directory, const std::string& type, const AccessUse& use) {
  json line = to_json(use.backend);
  line["place"] = directory.string();
  line["file_system"] = type;
  line["what"] = use.what;
  line["access"] = name_of(use.access.access);
  line["access_reason"] = use.access.reason;
  return line;
}

/// The profile of streams, or the error of reading it.
json profile_json(const DoctorSettings& settings) {
  return {{"path", settings.profile_path.empty() ? json() : json(settings.profile_path)},
          {"error", settings.profile ? "" : settings.profile.error().message()}};
}

const char* name_of(stream::LimitSource source) {
  switch (source) {
    case stream::LimitSource::kProfile:
      return "profile";
    case stream::LimitSource::kStorage:
      return "storage";
    case stream::LimitSource::kDefault:
      return "default";
  }
  return "default";
}

/// The limit of bytes in flight for streams to a directory.
json limit_of(const fs::path& directory,
              const DoctorSettings& settings,
              const StorageInfoSource& known) {
  const Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const storage::FileSystem kind = storage::file_system_of(opened.get());
  const auto needs = known.write_needs({opened.get(), kind, directory.string()});
  const auto limit = stream::in_flight_limit(settings.profile.value_or(model::Profile()), directory,
                                             kind, needs.value_or(stream::StorageNeeds{}));
  return {{"place", directory.string()},
          {"bytes", limit.bytes},
          {"by", name_of(limit.source)},
          {"reason", limit.reason}};
}

}  // namespace

DoctorSettings read_settings(const Environment& environment) {
  DoctorSettings settings;
  if (auto options = options_from(environment))
    settings.options = std::move(*options);
  else
    settings.error_text = options.error().message();
  settings.profile_path =
      settings.options.tuning.profile.value_or(model::active_profile_path(environment));
  if (!settings.profile_path.empty()) settings.profile = model::load_profile(settings.profile_path);
  return settings;
}

std::vector<AccessUse> uses_of(storage::AccessFacts place, storage::BackendFacts backend) {
  const auto use = [&](std::string what, storage::AccessDecision access) {
    backend.access = access.access;
    return AccessUse{std::move(what), std::move(access), choose_backend(backend)};
  };
  place.range_bytes = storage::kDirectRangeBytesMin;
  place.cached_fraction = 0;
  storage::AccessDecision of_long_reads = choose_access(place);
  std::vector<AccessUse> uses;
  if (of_long_reads.access == Access::kBuffered) {
    uses = {use("all reads", std::move(of_long_reads))};
  } else {
    uses = {use("long reads", {Access::kDirect, "direct: long and not in the page cache"}),
            use("other reads", {Access::kBuffered, "buffered: short, or cached already"})};
  }
  storage::AccessDecision of_streams = stream::choose_write_access(
      {.file_system = place.file_system, .is_direct_supported = place.is_direct_supported});
  uses.push_back(use("output streams", std::move(of_streams)));
  return uses;
}

json backends_json(std::span<const fs::path> directories,
                   const storage::BackendProbe& probe,
                   const DoctorSettings& settings) {
  const storage::BackendFacts facts{.requested = settings.options.tuning.backend,
                                    .is_ring_available = probe.is_ring_available,
                                    .ring_reason = probe.ring_reason};
  const StorageInfoSource known(settings.options.machine);
  json lines = json::array();
  json limits = json::array();
  for (const fs::path& directory : directories) {
    const auto described = probe::describe_file_system(directory);
    if (!described) continue;
    limits.push_back(limit_of(described->directory, settings, known));
    for (const AccessUse& use : uses_of(probe_facts(directory, known), facts))
      lines.push_back(line_of(described->directory, described->type, use));
  }
  return {{"requested", name_of(facts.requested)},
          {"error", settings.error_text},
          {"profile", profile_json(settings)},
          {"limits", std::move(limits)},
          {"uses", std::move(lines)}};
}

}  // namespace forebay::doctor
