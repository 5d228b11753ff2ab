// SPDX-License-Identifier: Apache-2.0
// Streams the bytes of a step to a program that converts them to another format and does not
// implement the format of datasets.
#pragma once

#include <cstdio>

#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// Writes a line of JSON that describes the fields. Then, for each block, a line with its field,
/// part or start, shape and bytes, followed by the bytes. Then the line {"end":true}, without which
/// the stream is incomplete. All bytes are verified. Needs memory for two pieces. Blocks.
Status stream_blocks(const Selection& selection, std::FILE* into);

}  // namespace forebay::dataset_tool
