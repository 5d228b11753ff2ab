// SPDX-License-Identifier: Apache-2.0
// The nearest word by edit distance. Lists are short, so the plain quadratic algorithm is enough.
#include "base/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace forebay {

namespace {

/// Number of characters to change, add or remove to turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
  const auto nearest = std::ranges::min_element(
      known, {}, [word](const std::string& one) { return edit_distance(word, one); });
  return nearest == known.end() ? std::string() : *nearest;
}

}  // namespace forebay
