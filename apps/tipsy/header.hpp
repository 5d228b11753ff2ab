// SPDX-License-Identifier: Apache-2.0
// The header of a Tipsy snapshot, as its bytes define it, without interpretation of the counts.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// The fields, in the order of the file.
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

/// `bytes` has kShortHeaderBytes or more.
Header decode_header(std::span<const std::byte> bytes, ByteOrder order);
HeaderBytes encode_header(const Header& header, ByteOrder order);

/// The byte order in which ndim is 3; no value if neither. `bytes` has kShortHeaderBytes or more.
std::optional<ByteOrder> detect_byte_order(std::span<const std::byte> bytes);

/// The header for `counts`, whose sum must not exceed kCountLimit. The high bytes go to the pad; if
/// all are 0, the pad is 0.
Header make_header(double time, const Counts& counts);

/// Counts of the 32-bit fields alone.
Counts plain_counts(const Header& header);
/// Counts that include the high bytes in the pad.
Counts wide_counts(const Header& header);
/// nbodies including its high byte in the pad.
std::uint64_t wide_nbodies(const Header& header);

}  // namespace forebay::tipsy
