// SPDX-License-Identifier: Apache-2.0
// Names of the enumerators of a plan, in their order, for output and for parsing.
#pragma once

#include <forebay/write_plan.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay::write {

using Name = std::string_view;

inline constexpr std::array<Name, 8> kStrategyNames{"auto",    "serial",     "file-per-process",
                                                    "baton",   "collective", "reduced-blocking",
                                                    "brigade", "gather"};
inline constexpr std::array<Name, 5> kExchangeNames{"none", "shared-memory", "message", "brigade",
                                                    "gather"};
inline constexpr std::array<Name, 3> kTransferModeNames{"independent", "baton", "collective"};
inline constexpr std::array<Name, 2> kPlacementNames{"in-rank", "dedicated"};
inline constexpr std::array<Name, 2> kAccessNames{name_of(Access::kBuffered),
                                                  name_of(Access::kDirect)};
inline constexpr std::array<Name, 2> kStagingFullPolicyNames{"block", "fail"};
inline constexpr std::array<Name, 2> kCodecNames{"none", "zstd"};
inline constexpr std::array<Name, 3> kChecksumStageNames{"auto", "copy", "agent"};

/// Returns the value of this name.
template <class Enum>
std::optional<Enum> parse_enum(Name name, std::span<const Name> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// "none, zstd".
inline std::string join_names(std::span<const Name> names) {
  std::string list;
  for (const Name name : names)
    list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace forebay::write
