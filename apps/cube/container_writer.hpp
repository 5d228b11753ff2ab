// SPDX-License-Identifier: Apache-2.0
// Writes the parts of a new profile to their places: everything but the rows themselves.
#pragma once

#include <cstddef>
#include <span>

#include "cube/container_layout.hpp"
#include "cube/sink.hpp"

namespace forebay::cube {

Status write_piece(Sink& sink, const Piece& piece);

/// Header, content and what fills it up.
Status write_member(Sink& sink, const MemberPlace& place, std::span<const std::byte> content);

/// What belongs to a metric besides its rows: mark or table, index, headers and what fills up.
/// `index` has the rows of `place`, and its byte order is that of the table.
Status write_around_rows(Sink& sink, const RowsPlace& place, const Index& index);

}  // namespace forebay::cube
