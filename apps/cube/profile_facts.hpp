// SPDX-License-Identifier: Apache-2.0
// A profile as scripts see it: tables of names, and rows of numbers.
#pragma once

#include <string>
#include <vector>

#include "cube/cubepl/profile_view.hpp"
#include "cube/row_cache.hpp"

namespace forebay::cube {

/// Call paths and regions by their ids, from 0 without gaps: which call path of the tree each is.
struct ScriptNumbers {
  std::vector<std::uint32_t> place_of;   ///< by number of the call path
  std::vector<std::uint32_t> number_of;  ///< by place
};
ScriptNumbers number_call_paths(const CallTree& tree);

/// The tables. `path` is what scripts see as the name of the profile.
cubepl::Facts facts_of(const Anchor& anchor, const std::string& path);

/// Rows for one thread; all that is handed in outlives it.
class CachedView final : public cubepl::ProfileView {
 public:
  CachedView(const cubepl::Facts& facts, const ScriptNumbers& numbers, RowCache& cache)
      : facts_(facts), numbers_(numbers), cache_(cache) {}

  const cubepl::Facts& facts() const override { return facts_; }
  /// Fails with kLimit, naming the memory, where more rows are needed at once than
  /// RowCache::held_rows_max().
  Result<std::span<const double>> row(const cubepl::InputRow& which) override;
  /// Lets go of the rows that were asked for. To be called between evaluations.
  void release() noexcept { held_.clear(); }
  void forget_rows() override { release(); }

 private:
  Error too_many_rows() const;

  const cubepl::Facts& facts_;
  const ScriptNumbers& numbers_;
  RowCache& cache_;
  FlavourScratch scratch_;
  std::vector<RowCache::Handle> held_;
};

}  // namespace forebay::cube
