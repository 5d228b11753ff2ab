// SPDX-License-Identifier: Apache-2.0
// Letters between the agents of a dataset as bytes, and the checks of what arrives.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/message_bytes.hpp"
#include "write/letters.hpp"
#include "write/routes.hpp"

namespace forebay::write {

comm::Bytes to_bytes(const OfferLetter& letter);
/// kDamage, with field and value, if no rank sends it; the same below.
Result<OfferLetter> offer_from(std::span<const std::byte> bytes);

comm::Bytes to_bytes(const SealedLetter& letter);
Result<SealedLetter> sealed_from(std::span<const std::byte> bytes);

/// What can be checked of a letter without a look at the state of a role: that there is such a
/// kind, which words it uses, how long its payload may be, and that `from` has the role that sends
/// it to `me`. Both are ranks of the routes.
Status check_letter(const comm::LinkHeader& header, Rank from, Rank me, const Routes& routes);

/// A word of a letter that is a number of 32 bits.
Result<std::uint32_t> small_word(const comm::LinkHeader& header, std::size_t word);

/// A field of a letter is wrong.
Error malformed(LetterKind kind,
                std::string_view field,
                std::uint64_t value,
                std::string_view must_be);

/// Puts together the pieces of what is sent as several letters (AgentContext::send_in_pieces()).
struct Pieces {
  std::optional<std::uint64_t> all_bytes = {};  ///< as the first piece announces
  comm::Bytes bytes = {};

  /// Appends a piece. kDamage, and nothing is appended, if it announces another total than the
  /// first one, or would exceed that.
  Status add(LetterKind kind, std::span<const std::byte> piece, std::uint64_t announced_bytes);
  bool is_whole() const noexcept { return all_bytes == bytes.size(); }
};

}  // namespace forebay::write
