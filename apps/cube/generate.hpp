// SPDX-License-Identifier: Apache-2.0
// Writes a synthetic profile as fast as the disk takes it: rows are computed by whichever thread is
// free and written behind it, each to its place.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/progress.hpp"
#include "cube/index.hpp"
#include "cube/synthetic.hpp"

namespace forebay::cube {

struct GenerateOptions {
  std::string path;
  SyntheticShape shape;
  std::uint64_t rows = 0;  ///< of all metrics; from metrics to metrics * call paths
  std::uint64_t seed = 1;
  IndexFormat index = IndexFormat::kSparse;  ///< dense: of metrics that have all rows
  ByteOrder order = ByteOrder::kLittle;
  std::optional<int> packing_level = std::nullopt;  ///< absent: plain rows
  unsigned workers = 1;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// The rows of the deck's inputs: 614, which is all but two of 11 metrics with 56 call paths. Other
/// shapes have all.
std::uint64_t usual_rows(const SyntheticShape& shape);

/// Writes the file; its bytes depend on the options without workers. Memory: the description and,
/// for each worker and two more, 8 MiB, or a row besides where rows are longer; compressing, 128
/// MiB and a row for each worker. After a failure there is no new file.
Status generate(const GenerateOptions& options);

}  // namespace forebay::cube
