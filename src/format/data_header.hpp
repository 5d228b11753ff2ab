// SPDX-License-Identifier: Apache-2.0
// DataHeader: the first 4 KiB of a data file, which identify it. Reading blocks does not need it;
// verifying, repairing and recycling files do.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

struct DataHeader {
  DatasetId dataset = {};
  DataFileName name = {};

  friend bool operator==(const DataHeader&, const DataHeader&) = default;
};

using HeaderPage = std::array<std::byte, kPageBytes>;

HeaderPage encode_header(const DataHeader& header) noexcept;

/// kShortFile with fewer than kPageBytes, else kDamage or kUnsupported; `path` is for the Error.
Result<DataHeader> decode_header(std::span<const std::byte> bytes, const std::string& path);

}  // namespace forebay::format
