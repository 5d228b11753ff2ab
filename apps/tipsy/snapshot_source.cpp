// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

std::string_view name_of(SourceKind kind) noexcept {
  return kind == SourceKind::kForebay ? "forebay" : "ifstream";
}

Result<std::unique_ptr<SnapshotSource>> open_source(const std::string& path,
                                                    const SourceOptions& options) {
  if (options.kind == SourceKind::kIfstream) return open_ifstream_source(path);
  return open_forebay_source(path, options);
}

}  // namespace forebay::tipsy
