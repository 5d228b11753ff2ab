// SPDX-License-Identifier: Apache-2.0
// The words of a plan in the order of their enumerators, for who prints them and who reads them.
#pragma once

#include <forebay/write_plan.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay::write {

using Word = std::string_view;

inline constexpr std::array<Word, 8> kStrategyNames{"auto",    "serial",     "file-per-process",
                                                    "baton",   "collective", "reduced-blocking",
                                                    "brigade", "gather"};
inline constexpr std::array<Word, 5> kHandOffNames{"none", "shared-memory", "message", "brigade",
                                                   "gather"};
inline constexpr std::array<Word, 3> kScheduleNames{"independent", "baton", "collective"};
inline constexpr std::array<Word, 2> kPlacementNames{"in-rank", "dedicated"};
inline constexpr std::array<Word, 2> kWhenFullNames{"wait", "fail"};
inline constexpr std::array<Word, 2> kCodecNames{"none", "zstd"};
inline constexpr std::array<Word, 3> kChecksumByNames{"auto", "copy", "agent"};

/// The value of this name.
template <class Enum>
std::optional<Enum> named(Word name, std::span<const Word> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// "none, zstd".
inline std::string list_of(std::span<const Word> names) {
  std::string list;
  for (const Word name : names)
    list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace forebay::write
