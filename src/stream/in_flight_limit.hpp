// SPDX-License-Identifier: Apache-2.0
// How many bytes may be under way to the device of a folder, and whose word that is: a profile's,
// or what is usual. Apart from the queues, so that the doctor says what streams do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/profile.hpp"
#include "storage/file.hpp"

namespace forebay::stream {

enum class LimitSource : std::uint8_t { kProfile, kUsual };

struct InFlightLimit {
  std::uint64_t bytes = 0;
  LimitSource source = LimitSource::kUsual;
  std::string reason;  ///< as reports say it
};

/// The entry of a profile that counts for files in `folder` on this host; no value if none does, or
/// there is no such folder. It need not be absolute.
std::optional<model::ProfileMount> mount_of_folder(model::Profile profile,
                                                   const std::filesystem::path& folder);

/// For files of `folder`, whose file system is of this kind.
InFlightLimit in_flight_limit(const model::Profile& profile,
                              const std::filesystem::path& folder,
                              storage::FileSystem kind);

}  // namespace forebay::stream
