// SPDX-License-Identifier: Apache-2.0
// The first 4 KiB of a data file: whose file it is. Readers of blocks do without; verify, repair
// and whoever recycles files do not.
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

/// kShortFile if there are fewer than kPageBytes, kDamage or kUnsupported otherwise; `path` is for
/// the Error.
Result<DataHeader> decode_header(std::span<const std::byte> bytes, const std::string& path);

}  // namespace forebay::format
