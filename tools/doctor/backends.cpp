// SPDX-License-Identifier: Apache-2.0
// Finds the facts about each place with the calls that sessions use, and has the rules decide.
#include "tools/doctor/backends.hpp"

#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "model/profile_place.hpp"
#include "runtime/engine_choice.hpp"
#include "runtime/known_storage.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "stream/in_flight_limit.hpp"
#include "stream/write_access.hpp"
#include "tools/doctor/nameless_file.hpp"
#include "tools/probe/file_system.hpp"

namespace forebay::doctor {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Where nothing can be written, nothing can be tried: all but memory is taken to have direct
/// access.
storage::AccessFacts guess(const fs::path& folder) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const storage::FileSystem kind = storage::file_system_of(opened.get());
  return {.file_system = kind, .direct_works = kind != storage::FileSystem::kTmpfs};
}

storage::AccessFacts look_at(const fs::path& folder, const KnownStorage& known) {
  const NamelessFile made(folder);
  if (made.error_number() != 0) return guess(folder);
  const auto file = storage::open_file(made.path());
  if (!file) return guess(folder);
  storage::AccessFacts facts = storage::access_facts(**file, {0, 0});
  facts.storage_known = known.knows(**file);
  return facts;
}

json to_json(const storage::BackendDecision& decision) {
  json others = json::array();
  for (const auto& other : decision.others)
    others.push_back({{"name", other.name}, {"reason", other.reason}});
  return {{"chosen", decision.chosen.empty() ? json() : json(decision.chosen)},
          {"reason", decision.reason},
          {"others", std::move(others)}};
}

json line_of(const fs::path& folder, const std::string& type, const Use& use) {
  json line = to_json(use.backend);
  line["place"] = folder.string();
  line["file_system"] = type;
  line["what"] = use.what;
  line["access"] = name_of(use.access.access);
  line["access_reason"] = use.access.reason;
  return line;
}

/// The profile that streams take, or what is wrong with it.
json profile_json(const Settings& settings) {
  return {{"path", settings.profile_path.empty() ? json() : json(settings.profile_path)},
          {"complaint", settings.profile ? "" : settings.profile.error().message()}};
}

const char* name_of(stream::LimitSource source) {
  switch (source) {
    case stream::LimitSource::kProfile:
      return "profile";
    case stream::LimitSource::kStorage:
      return "storage";
    case stream::LimitSource::kUsual:
      return "default";
  }
  return "default";
}

/// What streams may have under way in a folder.
json limit_of(const fs::path& folder, const Settings& settings, const KnownStorage& known) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const storage::FileSystem kind = storage::file_system_of(opened.get());
  const auto needs = known.needs_of_writing({opened.get(), kind, folder.string()});
  const auto limit = stream::in_flight_limit(settings.profile.value_or(model::Profile()), folder,
                                             kind, needs.value_or(stream::StorageNeeds{}));
  return {{"place", folder.string()},
          {"bytes", limit.bytes},
          {"by", name_of(limit.source)},
          {"reason", limit.reason}};
}

}  // namespace

Settings read_settings(const Environment& environment) {
  Settings settings;
  if (auto options = options_from(environment))
    settings.options = std::move(*options);
  else
    settings.complaint = options.error().message();
  settings.profile_path = settings.options.profile.value_or(model::profile_in_force(environment));
  if (!settings.profile_path.empty()) settings.profile = model::load_profile(settings.profile_path);
  return settings;
}

std::vector<Use> uses_of(storage::AccessFacts place, storage::BackendFacts backend) {
  const auto use = [&](std::string what, storage::AccessDecision access) {
    backend.access = access.access;
    return Use{std::move(what), std::move(access), choose_backend(backend)};
  };
  place.range_bytes = storage::kDirectRangeBytesMin;
  place.cached_fraction = 0;
  storage::AccessDecision of_long_reads = choose_access(place);
  std::vector<Use> uses;
  if (of_long_reads.access == Access::kBuffered) {
    uses = {use("all reads", std::move(of_long_reads))};
  } else {
    uses = {use("long reads", {Access::kDirect, "direct: what is long and not in the page cache"}),
            use("other reads", {Access::kBuffered, "buffered: what is short, or cached already"})};
  }
  storage::AccessDecision of_streams = stream::choose_write_access(
      {.file_system = place.file_system, .direct_works = place.direct_works});
  uses.push_back(use("output streams", std::move(of_streams)));
  return uses;
}

json backends_json(std::span<const fs::path> folders,
                   const storage::BackendProbe& probe,
                   const Settings& settings) {
  const storage::BackendFacts facts{.wanted = backend_choice(settings.options.engine),
                                    .ring_works = probe.ring_works,
                                    .ring_reason = probe.ring_reason};
  const KnownStorage known(settings.options.machine);
  json lines = json::array();
  json limits = json::array();
  for (const fs::path& folder : folders) {
    const auto described = probe::describe_file_system(folder);
    if (!described) continue;
    limits.push_back(limit_of(described->folder, settings, known));
    for (const Use& use : uses_of(look_at(folder, known), facts))
      lines.push_back(line_of(described->folder, described->type, use));
  }
  return {{"engine", storage::name_of(facts.wanted)},
          {"complaint", settings.complaint},
          {"profile", profile_json(settings)},
          {"limits", std::move(limits)},
          {"uses", std::move(lines)}};
}

}  // namespace forebay::doctor
