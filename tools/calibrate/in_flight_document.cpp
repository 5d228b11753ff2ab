// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight_document.hpp"

#include <forebay/runtime.hpp>

#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "base/host_name.hpp"
#include "model/machine_text.hpp"
#include "model/profile_path.hpp"
#include "storage/file_system.hpp"
#include "stream/in_flight_limit.hpp"
#include "tools/calibrate/profile_file.hpp"
#include "tools/calibrate/scratch_directory.hpp"

namespace forebay::calibrate {

using nlohmann::json;

namespace {

constexpr double kBytesOfMegabyte = 1e6;

/// The profile of programs that call options_from_environment().
Result<std::string> profile_path(const InFlightTask& task) {
  if (!task.profile.empty()) return task.profile;
  auto options = options_from_environment();
  if (!options) return failure(options.error());
  std::string path =
      options->tuning.profile.value_or(model::calibration_profile_path(process_environment()));
  if (!path.empty()) return path;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write profile",
                  .cause = "FOREBAY_PROFILE is empty, or HOME is not set; name a profile "
                           "with -o FILE"});
}

/// The limit of streams to the directory according to the profile, which may not exist.
stream::InFlightLimit current_limit(const std::string& profile,
                                    const std::filesystem::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return stream::in_flight_limit(model::load_profile(profile).value_or(model::Profile()), directory,
                                 storage::file_system_of(opened.get()));
}

/// The entry without measured values.
Result<model::ProfileMount> entry_for(const std::filesystem::path& directory) {
  auto root = device_root(directory);
  if (!root) return failure(root.error());
  const auto shared = is_shared(directory);
  if (!shared) return failure(shared.error());
  return model::ProfileMount{.path = std::move(*root),
                             .host = *shared ? std::string() : host_name()};
}

Result<InFlightFindings> measure(const InFlightTask& task, const ProgressCallback& on_progress) {
  auto scratch = ScratchDirectory::make(task.directory);
  if (!scratch) return failure(scratch.error());
  return observe_in_flight(**scratch / "", task.limits, on_progress);
}

}  // namespace

std::string source_of(const InFlightFindings& found, const std::string& about) {
  const InFlightPoint& chosen = found.points.at(found.choice.index);
  const std::uint64_t requests = chosen.in_flight_bytes / found.request_bytes;
  return fmt::format(
      "{}: {} requests of {}, {}, were the fewest within {:.0f} % of the best "
      "({:.0f} MB/s, median of {})",
      about, requests, model::size_text(found.request_bytes), name_of(found.access),
      100 * (1 - kToleranceFraction), summarize(chosen.bytes_per_second).median / kBytesOfMegabyte,
      chosen.bytes_per_second.size());
}

json to_json(const InFlightFindings& found) {
  auto points = json::array();
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    const InFlightPoint& point = found.points[i];
    const SampleSummary rate = summarize(point.bytes_per_second);
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
          {"chosen", found.choice.index},
          {"noise", found.choice.noise},
          {"points", std::move(points)}};
}

Result<json> calibrate_in_flight(const InFlightTask& task, const ProgressCallback& on_progress) {
  const auto path = profile_path(task);
  if (!path) return failure(path.error());
  auto entry = entry_for(task.directory);
  if (!entry) return failure(entry.error());
  const ProfileFile profile(*path);
  if (const Status ready = profile.prepare(); !ready) return failure(ready.error());
  const stream::InFlightLimit before = current_limit(*path, task.directory);
  const auto found = measure(task, on_progress);
  if (!found) return failure(found.error());
  entry->in_flight_bytes = found->points.at(found->choice.index).in_flight_bytes;
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
