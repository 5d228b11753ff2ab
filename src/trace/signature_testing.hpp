// SPDX-License-Identifier: Apache-2.0
// Random signatures, and their accesses by direct expansion. For tests only.
#pragma once

#include <cstdint>
#include <random>
#include <variant>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// Random signatures; many of them violate a limit.
class RandomSignatures {
 public:
  struct Options {
    std::size_t depth_max = 3;
    std::int64_t count_max = 3;
    std::int64_t offset_max = 100'000;
    std::int64_t factor_max = 4096;
    /// Least factor in the count of a loop: 0 for loops that always have repetitions.
    std::int64_t count_factor_min = -2;
  };

  RandomSignatures(std::uint64_t seed, const Options& options) : random_(seed), options_(options) {}

  Signature next() {
    const auto operation = number(0, 1) == 0 ? Operation::kRead : Operation::kWrite;
    return {operation, items(0)};
  }

 private:
  std::int64_t number(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(random_);
  }

  AffineNumber affine(std::size_t depth, std::int64_t constant_max, std::int64_t factor_max) {
    AffineNumber result{.constant = number(0, constant_max)};
    for (std::size_t d = 0; d < depth; ++d)
      if (number(0, 1) == 0) result.factors[d] = number(-factor_max / 4, factor_max);
    return result;
  }

  std::vector<Item> items(std::size_t depth) {
    std::vector<Item> result;
    for (std::int64_t left = number(1, 3); left > 0; --left) {
      const std::int64_t kind = number(0, 5);
      if (kind == 0)
        result.emplace_back(list());
      else if (kind < 3 || depth == options_.depth_max)
        result.emplace_back(access(depth));
      else
        result.emplace_back(loop(depth));
    }
    return result;
  }

  AccessItem access(std::size_t depth) {
    AccessItem result{affine(depth, options_.offset_max, options_.factor_max),
                      affine(depth, 5000, 100)};
    if (number(0, 2) == 0) result.interval_ns = affine(depth, 3, 2);
    if (number(0, 5) == 0) result.interval_ns = AffineNumber{.constant = number(0, 5) * 1'000'000};
    return result;
  }

  ListItem list() {
    ListItem result;
    for (std::int64_t left = number(1, 3); left > 0; --left)
      result.accesses.push_back({static_cast<std::uint64_t>(number(0, options_.offset_max)), 512});
    return result;
  }

  LoopItem loop(std::size_t depth) {
    const std::int64_t least = options_.count_factor_min;
    LoopItem result{.count = {.constant = number(least < 0 ? -1 : 1, options_.count_max)}};
    for (std::size_t d = 0; d < depth; ++d)
      if (number(0, 2) == 0) result.count.factors[d] = number(least, 2);
    result.items = items(depth + 1);
    return result;
  }

  std::mt19937_64 random_;
  Options options_;
};

/// Calls `visit(access, indexes)` for each access. A ListItem is visited as AccessItems.
template <class Visit>
void expand(const std::vector<Item>& items, std::size_t depth, LoopIndexes indexes, Visit& visit) {
  for (const Item& item : items) {
    if (const auto* const access = std::get_if<AccessItem>(&item)) visit(*access, indexes);
    if (const auto* const list = std::get_if<ListItem>(&item)) {
      for (const ByteRange& range : list->accesses)
        visit(AccessItem{{static_cast<std::int64_t>(range.offset)},
                         {static_cast<std::int64_t>(range.size)}},
              indexes);
    }
    if (const auto* const loop = std::get_if<LoopItem>(&item)) {
      const std::int64_t count = loop->count.at(indexes);
      for (std::int64_t index = 0; index < count; ++index) {
        indexes[depth] = index;
        expand(loop->items, depth + 1, indexes, visit);
      }
      indexes[depth] = 0;
    }
  }
}

template <class Visit>
void expand(const Signature& signature, Visit visit) {
  expand(signature.items, 0, {}, visit);
}

}  // namespace forebay::trace
