// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/fuse_overheads.hpp"

#include <algorithm>

namespace forebay::emufs {

namespace {

model::Time interpolate(model::Time small, model::Time large, double share) {
  const double span = static_cast<double>((large - small).count()) * share;
  return small + model::Time(static_cast<model::Time::rep>(span));
}

FuseOverhead interpolate(const FuseOverheadBySize& line, std::uint64_t bytes) {
  const std::uint64_t beyond = std::max(bytes, kSmallRequestBytes) - kSmallRequestBytes;
  const double share =
      static_cast<double>(beyond) / static_cast<double>(kLargeRequestBytes - kSmallRequestBytes);
  return {interpolate(line.small.before, line.large.before, share),
          interpolate(line.small.after, line.large.after, share)};
}

}  // namespace

FuseOverhead FuseOverheads::for_request(model::RequestKind kind,
                                        std::uint64_t bytes) const noexcept {
  if (kind == model::RequestKind::kRead) return interpolate(read, bytes);
  if (kind == model::RequestKind::kWrite) return interpolate(write, bytes);
  return name;
}

}  // namespace forebay::emufs
