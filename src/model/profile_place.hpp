// SPDX-License-Identifier: Apache-2.0
// Where the profile is that a program takes when nobody hands it one: section "Where a profile is
// found" of docs/formats/profile.md. Apart from reading it, so that whoever writes a profile finds
// the same place.
#pragma once

#include <forebay/config.hpp>

#include <string>

namespace forebay::model {

/// Where the profile of whoever runs the program belongs, be it there or not; empty where neither
/// XDG_CONFIG_HOME nor HOME tells. Pure.
std::string default_profile_place(const Environment& environment);

/// Where machine files of the user belong: "machines" beside the default profile; empty as above.
/// Pure.
std::string user_machine_folder(const Environment& environment);

/// The profile of a program that names none: what FOREBAY_PROFILE says, or the default one where
/// there is one that can be read; empty: none. Looks whether the file is there.
std::string profile_in_force(const Environment& environment);

/// Where a calibration writes: what FOREBAY_PROFILE says, else the default place. Pure.
std::string profile_to_write(const Environment& environment);

}  // namespace forebay::model
