// SPDX-License-Identifier: Apache-2.0
#include "tipsy/writer.hpp"

#include <utility>

#include <fmt/format.h>

#include "tipsy/header.hpp"

namespace forebay::tipsy {

namespace {

Status check_limits(const std::string& path, const Layout& layout) {
  const bool is_short = layout.header_bytes == kShortHeaderBytes;
  const std::uint64_t limit = is_short ? kShortCountLimit : kCountLimit;
  // Each count separately first: the sum of three large counts could wrap around.
  for (const Family family : kFamilies) {
    if (layout.counts.of(family) <= limit && layout.counts.total() <= limit) continue;
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "create",
         .path = path,
         .cause = fmt::format("{} particles are too many; a header of {} bytes can count "
                              "{} particles",
                              layout.counts.total(), layout.header_bytes, limit)});
  }
  return {};
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::create(const std::string& path,
                                              const Layout& layout,
                                              double time) {
  if (const Status legal = check_limits(path, layout); !legal) {
    return failure(legal.error());
  }
  auto file = command::AtomicFile::create(path);
  if (!file) return failure(file.error());
  if (const Status reserved = file->reserve(layout.end_offset()); !reserved) {
    return failure(reserved.error());
  }
  const HeaderBytes header = encode_header(make_header(time, layout.counts), layout.order);
  const auto bytes = std::span(header).first(layout.header_bytes);
  if (const Status written = file->write(0, bytes); !written) {
    return failure(written.error());
  }
  return SnapshotWriter(std::move(*file));
}

}  // namespace forebay::tipsy
