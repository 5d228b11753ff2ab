// SPDX-License-Identifier: Apache-2.0
// Writes the parts of a new profile except the rows.
#pragma once

#include <cstddef>
#include <span>

#include "cube/container_layout.hpp"
#include "cube/sink.hpp"

namespace forebay::cube {

Status write_segment(Sink& sink, const FileSegment& segment);

/// Writes header, content and padding.
Status write_member(Sink& sink, const MemberLayout& member, std::span<const std::byte> content);

/// Writes everything of a metric except its rows: magic or table, index, headers and padding.
/// `index` must list the rows that `rows` lays out; its byte order is that of the table.
Status write_rows_framing(Sink& sink, const RowsLayout& rows, const Index& index);

}  // namespace forebay::cube
