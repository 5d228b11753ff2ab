// SPDX-License-Identifier: Apache-2.0
// Search for a short signature of a recorded stream of accesses.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <span>

#include "trace/signature.hpp"

namespace forebay::trace {

/// A signature that reproduces offsets and sizes of all accesses exactly. If each
/// interval is within 10 % of their mean, accesses outside of lists have that mean as interval.
/// Recognizes loops (LoopRecognizer), rewrites them (rewrite_loops()), and lists accesses that no
/// loop explains. Memory is proportional to the listed accesses. Fails with kInvalidArgument if
/// there are none, with kLimit if the signature would exceed a limit of the format.
FOREBAY_EXPORT Result<Signature> signature_of(std::span<const Access> accesses,
                                              Operation operation);

/// Share of the accesses of `signature` in loops, outside of lists, from 0 to 1; 0 without
/// accesses. 1 if they are too many to be counted: see access_count().
FOREBAY_EXPORT double explained_share(const Signature& signature);

}  // namespace forebay::trace
