// SPDX-License-Identifier: Apache-2.0
// Which make of store a path means. What is there is recognised; what is new is a Forebay dataset
// unless something else was asked for, or cannot be.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "flow/part_store.hpp"

namespace forebay::flow {

enum class StoreKind : std::uint8_t { kFolder, kDataset };

/// What was asked for.
struct StoreWishes {
  std::optional<StoreKind> kind;  ///< of stores that are made; absent: chosen
  std::string plan;               ///< a strategy, or the path of a TOML file; empty: chosen
  /// Steps that stay in a dataset; 0: all; absent: as the plan says.
  std::optional<std::uint32_t> keep;
};

/// Makes the Runtime that datasets are stored with. Collective where ranks have one together.
using RuntimeMaker = std::function<std::unique_ptr<Runtime>(const RuntimeOptions&)>;

/// Who can write a dataset.
enum class Writers : std::uint8_t {
  kAllRanks,  ///< the Runtime has all ranks of the team
  kOneRank,   ///< it has this process alone: teams of one
};

/// Opens stores for one rank, with a Runtime that is made when the first dataset is opened. Must
/// outlive them.
class Stores {
 public:
  Stores(StoreWishes wishes, RuntimeMaker make_runtime, Writers writers)
      : wishes_(std::move(wishes)), make_runtime_(std::move(make_runtime)), writers_(writers) {}
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  /// Opens by these rules, one after the other:
  /// 1. what is there is opened as what it is; kInvalidArgument if another kind was asked for to
  ///    write;
  /// 2. what is new is of the kind that was asked for; a dataset if its name ends in ".fb", or if
  ///    the team can write one; else a folder.
  /// A plan, or steps that stay, are for datasets: kInvalidArgument where a folder is to be
  /// written.
  StoreOpener opener();

 private:
  Result<std::unique_ptr<PartStore>> open(const std::string& path, StoreUse use, Team& team);
  Result<StoreKind> choose(const std::string& path, StoreUse use, const Team& team) const;
  Result<std::unique_ptr<PartStore>> open_dataset(const std::string& path,
                                                  StoreUse use,
                                                  Team& team);
  /// Collective, once.
  Status make_runtime(Team& team);

  StoreWishes wishes_;
  RuntimeMaker make_runtime_;
  Writers writers_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace forebay::flow
