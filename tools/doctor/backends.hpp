// SPDX-License-Identifier: Apache-2.0
// Which backend reads and writes the files of a place, and why not the others: the library's own
// rules, asked about each place that the doctor looks at.
#pragma once

#include <forebay/runtime.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/profile.hpp"
#include "storage/access_rule.hpp"
#include "storage/backend_rule.hpp"

namespace forebay::doctor {

/// The settings of whoever runs the doctor, as programs get them that ask for
/// options_from_environment(). What cannot be understood leaves the defaults and is told.
struct Settings {
  RuntimeOptions options = {};
  std::string complaint = {};
  std::string profile_path = {};  ///< that streams take; empty: none
  Result<model::Profile> profile = model::Profile();
};
Settings read_settings(const Environment& environment);

/// A kind of reading or writing that a place sees.
struct Use {
  std::string what;  ///< "long reads", "output streams", ...
  storage::AccessDecision access;
  storage::BackendDecision backend;
};

/// Pure. `place.range_bytes` and `place.cached_fraction` are of no meaning: those who read decide.
/// Of `backend`, `access` is filled in here.
std::vector<Use> uses_of(storage::AccessFacts place, storage::BackendFacts backend);

/// The part "backends" of the doctor's document: settings, the profile, a line for each folder and
/// use, and for each folder how many bytes streams may have under way there, by whose word. Folders
/// that do not exist are left out. Tries direct access on a file without a name; where none can be
/// made, the file system is all that is known.
nlohmann::json backends_json(std::span<const std::filesystem::path> folders,
                             const storage::BackendProbe& probe,
                             const Settings& settings);

}  // namespace forebay::doctor
