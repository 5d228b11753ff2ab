// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/allowances.hpp"

#include <algorithm>

namespace forebay::emufs {

namespace {

model::Time between(model::Time small, model::Time large, double share) {
  const double span = static_cast<double>((large - small).count()) * share;
  return small + model::Time(static_cast<model::Time::rep>(span));
}

Allowance between(const AllowanceLine& line, std::uint64_t bytes) {
  const std::uint64_t beyond = std::max(bytes, kSmallRequestBytes) - kSmallRequestBytes;
  const double share =
      static_cast<double>(beyond) / static_cast<double>(kLargeRequestBytes - kSmallRequestBytes);
  return {between(line.small.before, line.large.before, share),
          between(line.small.after, line.large.after, share)};
}

}  // namespace

Allowance Allowances::of(model::RequestKind kind, std::uint64_t bytes) const noexcept {
  if (kind == model::RequestKind::kRead) return between(read, bytes);
  if (kind == model::RequestKind::kWrite) return between(write, bytes);
  return name;
}

}  // namespace forebay::emufs
