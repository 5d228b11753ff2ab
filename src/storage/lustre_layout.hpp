// SPDX-License-Identifier: Apache-2.0
// New files on Lustre with a requested stripe layout. This uses the kernel interface of Lustre's
// own library, which is neither needed nor linked. The file is created without objects, gets its
// layout, and gets its objects when it is opened the next time.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <string>

#include "storage/stripe_layout.hpp"

namespace forebay::storage {

/// struct lov_user_md_v1 of lustre_user.h without objects, as in memory (little-endian): magic,
/// pattern, 16 bytes of identity, stripe size, stripe count, and first server. A value that the
/// hint leaves open is 0, which means the default of the directory; servers are never chosen by
/// number.
using LustreLayout = std::array<std::byte, 32>;
LustreLayout encode_lustre_layout(const StripeHint& hint) noexcept;

/// Creates an empty file of this layout, which must not exist yet. A failure leaves no file behind:
/// system_error() with EEXIST, or, if the layout is refused, with the errno of the kernel. (EINVAL:
/// stripes that are not a multiple of 64 KiB; ENOTTY: not Lustre.)
Status create_lustre_file(const std::string& path, const StripeHint& hint);

}  // namespace forebay::storage
