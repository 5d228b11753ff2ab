// SPDX-License-Identifier: Apache-2.0
// Paths of profiles for programs that get none: "Where a profile is found" in
// docs/formats/profile.md. Separate from reading, so that programs that write a profile use the
// same path.
#pragma once

#include <string>

#include "base/config.hpp"

namespace forebay::model {

/// Path of the user's profile, which need not exist; empty if neither XDG_CONFIG_HOME nor HOME is
/// usable. Pure.
std::string default_profile_path(const Environment& environment);

/// Directory of the user's machine files: "machines" beside the default profile; empty as above.
/// Pure.
std::string user_machine_directory(const Environment& environment);

/// The profile of a program that names none: FOREBAY_PROFILE, or the default profile if it exists
/// and is readable; empty: none. Checks whether the file exists.
std::string active_profile_path(const Environment& environment);

/// Path that a calibration writes: FOREBAY_PROFILE, else the default path. Pure.
std::string calibration_profile_path(const Environment& environment);

}  // namespace forebay::model
