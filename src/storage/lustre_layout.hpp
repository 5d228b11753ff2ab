// SPDX-License-Identifier: Apache-2.0
// New files on Lustre, cut over its servers as somebody wishes. This speaks to the kernel as
// Lustre's own library does, which is neither needed nor linked: a file is made without objects,
// told its layout, and gets them when it is opened the next time.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <string>

#include "storage/stripes.hpp"

namespace forebay::storage {

/// struct lov_user_md_v1 of lustre_user.h without objects, as it lies in memory (little-endian):
/// magic, pattern, 16 bytes of identity, stripe size, stripe count, and where to begin. What the
/// wish leaves open is 0, which means "as the folder says"; servers are never chosen by number.
using LustreLayout = std::array<std::byte, 32>;
LustreLayout encode_lustre_layout(const StripeWish& wish) noexcept;

/// Makes an empty file of this layout, which must not be there yet. On failure nothing is left
/// behind: system_error() with EEXIST, where the layout is refused with what the kernel said
/// (EINVAL for stripes that are no multiple of 64 KiB, ENOTTY where this is not Lustre).
Status make_lustre_file(const std::string& path, const StripeWish& wish);

}  // namespace forebay::storage
