// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight_document.hpp"

#include <forebay/runtime.hpp>

#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "model/machine_text.hpp"
#include "model/profile_place.hpp"
#include "storage/file_system.hpp"
#include "stream/in_flight_limit.hpp"
#include "tools/calibrate/own_folder.hpp"
#include "tools/calibrate/profile_file.hpp"

namespace forebay::calibrate {

using nlohmann::json;

namespace {

constexpr double kBytesOfMegabyte = 1e6;

/// As programs have it that ask for options_from_environment(), and most others.
Result<std::string> profile_to_change(const InFlightTask& task) {
  if (!task.profile.empty()) return task.profile;
  auto options = options_from_environment();
  if (!options) return failure(options.error());
  std::string path = options->profile.value_or(model::profile_to_write(process_environment()));
  if (!path.empty()) return path;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write profile",
                  .cause = "there is none: FOREBAY_PROFILE is empty, or HOME is not set; name one "
                           "with -o FILE"});
}

/// The limit that streams to the folder have by the profile, which may not be there.
stream::InFlightLimit limit_now(const std::string& profile, const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return stream::in_flight_limit(model::load_profile(profile).value_or(model::Profile()), folder,
                                 storage::file_system_of(opened.get()));
}

/// The entry without what is measured.
Result<model::ProfileMount> entry_for(const std::filesystem::path& folder) {
  auto place = place_of(folder);
  if (!place) return failure(place.error());
  const auto shared = is_shared(folder);
  if (!shared) return failure(shared.error());
  return model::ProfileMount{.path = std::move(*place),
                             .host = *shared ? std::string() : model::name_of_this_host()};
}

Result<InFlightFindings> measure(const InFlightTask& task, const Tell& tell) {
  auto own = OwnFolder::make(task.folder);
  if (!own) return failure(own.error());
  return observe_in_flight(**own / "", task.limits, tell);
}

}  // namespace

std::string source_of(const InFlightFindings& found, const std::string& about) {
  const InFlightPoint& chosen = found.points.at(found.choice.place);
  const std::uint64_t requests = chosen.in_flight_bytes / found.request_bytes;
  return fmt::format(
      "{}: {} of {} at a time, {}, was the least within {:.0f} % of the best "
      "({:.0f} MB/s, median of {})",
      about, requests, model::size_text(found.request_bytes), name_of(found.access),
      100 * (1 - kAsGoodAs), summarise(chosen.bytes_per_second).median / kBytesOfMegabyte,
      chosen.bytes_per_second.size());
}

json to_json(const InFlightFindings& found) {
  auto points = json::array();
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    const InFlightPoint& point = found.points[i];
    const Measured rate = summarise(point.bytes_per_second);
    points.push_back({{"in_flight_bytes", point.in_flight_bytes},
                      {"bytes_per_second", rate.median},
                      {"low", rate.low},
                      {"high", rate.high},
                      {"share", found.choice.shares.at(i)},
                      {"request_s", static_cast<double>(point.in_flight_bytes) / rate.median}});
  }
  return {{"access", name_of(found.access)},
          {"access_reason", found.access_reason},
          {"backend", found.backend},
          {"request_bytes", found.request_bytes},
          {"rounds", found.points.at(0).bytes_per_second.size()},
          {"chosen", found.choice.place},
          {"noise", found.choice.noise},
          {"points", std::move(points)}};
}

Result<json> calibrate_in_flight(const InFlightTask& task, const Tell& tell) {
  const auto path = profile_to_change(task);
  if (!path) return failure(path.error());
  auto entry = entry_for(task.folder);
  if (!entry) return failure(entry.error());
  const ProfileFile profile(*path);
  if (const Status ready = profile.prepare(); !ready) return failure(ready.error());
  const stream::InFlightLimit before = limit_now(*path, task.folder);
  const auto found = measure(task, tell);
  if (!found) return failure(found.error());
  entry->in_flight_bytes = found->points.at(found->choice.place).in_flight_bytes;
  entry->source = source_of(*found, task.about);
  if (const Status put = profile.put(*entry); !put) return failure(put.error());
  json document = to_json(*found);
  document["profile"] = *path;
  document["place"] = entry->path.string();
  document["host"] = entry->host.empty() ? json() : json(entry->host);
  document["in_flight_bytes"] = entry->in_flight_bytes;
  document["source"] = entry->source;
  document["before"] = {{"bytes", before.bytes}, {"reason", before.reason}};
  return document;
}

}  // namespace forebay::calibrate
