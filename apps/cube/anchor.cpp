// SPDX-License-Identifier: Apache-2.0
#include "cube/anchor.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace forebay::cube {

namespace {
constexpr std::array<std::string_view, 5> kKinds{"EXCLUSIVE", "INCLUSIVE", "PREDERIVED_EXCLUSIVE",
                                                 "PREDERIVED_INCLUSIVE", "POSTDERIVED"};
}

std::string_view name_of(MetricKind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)];
}

Result<MetricKind> parse_metric_kind(std::string_view text) {
  const auto found = std::ranges::find(kKinds, text);
  if (found != kKinds.end()) return static_cast<MetricKind>(found - kKinds.begin());
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "read anchor.xml",
                  .cause = fmt::format("'{}' is no kind of metric that is known", text)});
}

}  // namespace forebay::cube
