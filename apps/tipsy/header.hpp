// SPDX-License-Identifier: Apache-2.0
// The header of a Tipsy snapshot as its bytes say it, before anybody asks what the counts mean.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// The fields in the order of the file.
struct Header {
  double time = 0;
  std::uint32_t nbodies = 0;
  std::int32_t ndim = 3;
  std::uint32_t nsph = 0;
  std::uint32_t ndark = 0;
  std::uint32_t nstar = 0;
  std::uint32_t pad = 0;  ///< 0 if the bytes end before it

  friend bool operator==(const Header&, const Header&) noexcept = default;
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

/// Needs at least kShortHeaderBytes.
Header decode_header(std::span<const std::byte> bytes, ByteOrder order);
HeaderBytes encode_header(const Header& header, ByteOrder order);

/// The order in which ndim is 3; none if it is in neither. Needs at least kShortHeaderBytes.
std::optional<ByteOrder> byte_order_of(std::span<const std::byte> bytes);

/// The header that says `counts`, which must be at most kCountLimit together. The high bytes go to
/// the pad; without any the pad is 0.
Header header_for(double time, const Counts& counts);

/// What the 32-bit fields alone say.
Counts plain_counts(const Header& header);
/// What they say with the high bytes in the pad.
Counts wide_counts(const Header& header);
/// nbodies with its high byte.
std::uint64_t wide_nbodies(const Header& header);

}  // namespace forebay::tipsy
