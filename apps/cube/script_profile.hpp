// SPDX-License-Identifier: Apache-2.0
// A profile as scripts see it: tables of names, and rows of numbers.
#pragma once

#include <string>
#include <vector>

#include "cube/cubepl/profile_view.hpp"
#include "cube/row_cache.hpp"

namespace forebay::cube {

/// Numbers of call paths, for ids from 0 without gaps, and their indices in the call tree.
struct CallPathNumbering {
  std::vector<std::uint32_t> index_of;   ///< call tree index by number
  std::vector<std::uint32_t> number_of;  ///< number by call tree index
};
CallPathNumbering number_call_paths(const CallTree& tree);

/// Returns the tables. Scripts read `path` as the name of the profile.
cubepl::ProfileInfo make_profile_info(const Anchor& anchor, const std::string& path);

/// Rows for one thread. All arguments must outlive the object.
class CachedProfileView final : public cubepl::ProfileView {
 public:
  CachedProfileView(const cubepl::ProfileInfo& info,
                    const CallPathNumbering& numbers,
                    RowCache& cache)
      : info_(info), numbers_(numbers), cache_(cache) {}

  const cubepl::ProfileInfo& info() const override { return info_; }
  /// Fails with kLimit, naming the memory, if more rows are needed at once than
  /// RowCache::held_rows_max().
  Result<std::span<const double>> row(const cubepl::InputRow& which) override;
  /// Releases the rows returned so far. Must be called between evaluations.
  void release() noexcept { held_.clear(); }
  void release_rows() override { release(); }

 private:
  Error too_many_rows() const;

  const cubepl::ProfileInfo& info_;
  const CallPathNumbering& numbers_;
  RowCache& cache_;
  FlavorScratch scratch_;
  std::vector<RowCache::Handle> held_;
};

}  // namespace forebay::cube
