// SPDX-License-Identifier: Apache-2.0
// The backend that reads and writes the files of a directory, and why not the others: applies the
// library's rules to each directory that the doctor examines.
#pragma once

#include <forebay/runtime.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/config.hpp"
#include "model/profile.hpp"
#include "storage/access_rule.hpp"
#include "storage/backend_rule.hpp"

namespace forebay::doctor {

/// The settings of the process that runs the doctor, as programs get them from
/// options_from_environment(). Invalid settings are reported and leave the defaults.
struct DoctorSettings {
  RuntimeOptions options = {};
  std::string error_text = {};
  std::string profile_path = {};  ///< of streams; empty: none
  Result<model::Profile> profile = model::Profile();
};
DoctorSettings read_settings(const Environment& environment);

/// One kind of read or write in a directory.
struct AccessUse {
  std::string what;  ///< "long reads", "output streams", ...
  storage::AccessDecision access;
  storage::BackendDecision backend;
};

/// The uses of a place. Pure. `place.range_bytes` and `place.cached_fraction` are ignored: they
/// depend on the read. `backend.access` is set here.
std::vector<AccessUse> uses_of(storage::AccessFacts place, storage::BackendFacts backend);

/// The part "backends" of the doctor's document: settings, the profile, a line for each directory
/// and use, and for each directory the limit of bytes in flight for streams, with its source.
/// Missing directories are left out. Tests direct access on an unnamed file; where none can be
/// created, only the file system decides.
nlohmann::json backends_json(std::span<const std::filesystem::path> directories,
                             const storage::BackendProbe& probe,
                             const DoctorSettings& settings);

}  // namespace forebay::doctor
