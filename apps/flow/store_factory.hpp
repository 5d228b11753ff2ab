// SPDX-License-Identifier: Apache-2.0
// Chooses the type of store for a path. The type of an existing store is detected. A new store is a
// Forebay dataset, unless another type is requested or a dataset cannot be written.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "flow/part_store.hpp"

namespace forebay::flow {

enum class StoreKind : std::uint8_t { kDirectory, kDataset };

/// Whether the first checkpoints try plans (DatasetOptions::tune).
enum class Tuning : std::uint8_t { kOff, kOn };

/// Options of the command line.
struct StoreOptions {
  std::optional<StoreKind> kind;  ///< type of new stores; absent: chosen
  std::string plan;               ///< a strategy, or the path of a TOML file; empty: chosen
  /// Steps that a dataset retains; 0: all; absent: as in the plan.
  std::optional<std::uint32_t> keep;
  Tuning tuning = Tuning::kOff;
};

/// Creates the Runtime that stores datasets. Collective if several ranks share the Runtime.
using RuntimeFactory = std::function<std::unique_ptr<Runtime>(const RuntimeOptions&)>;

/// Ranks that can write a dataset.
enum class DatasetRanks : std::uint8_t {
  kAllRanks,  ///< the Runtime has all ranks of the communicator
  kOneRank,   ///< the Runtime has this process alone: communicators of one rank
};

/// Opens stores for one rank, with a Runtime that is created when the first dataset is opened. Must
/// outlive the stores.
class StoreFactory {
 public:
  StoreFactory(StoreOptions store_options, RuntimeFactory make_runtime, DatasetRanks dataset_ranks)
      : store_options_(std::move(store_options)),
        make_runtime_(std::move(make_runtime)),
        dataset_ranks_(dataset_ranks) {}
  StoreFactory(const StoreFactory&) = delete;
  StoreFactory& operator=(const StoreFactory&) = delete;

  /// Opens a store by these rules, in this order:
  /// 1. An existing store is opened as its type; kInvalidArgument if it is opened to write and
  ///    another type is requested.
  /// 2. A new store has the requested type. Without one, it is a dataset if its name ends in ".fb"
  ///    or if the ranks can write one, else a directory.
  /// A plan, or a number of retained steps, is for datasets only: kInvalidArgument if a directory
  /// is to be written.
  StoreOpener opener();

 private:
  Result<std::unique_ptr<PartStore>> open(const std::string& path,
                                          StoreMode mode,
                                          SolverComm& comm);
  Result<StoreKind> choose_kind(const std::string& path,
                                StoreMode mode,
                                const SolverComm& comm) const;
  Result<std::unique_ptr<PartStore>> open_dataset(const std::string& path,
                                                  StoreMode mode,
                                                  SolverComm& comm);
  /// Collective, once.
  Status make_runtime(SolverComm& comm);

  StoreOptions store_options_;
  RuntimeFactory make_runtime_;
  DatasetRanks dataset_ranks_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace forebay::flow
