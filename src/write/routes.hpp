// SPDX-License-Identifier: Apache-2.0
// Who hands what to whom: for each rank its writer, its file and who comes next, worked out by
// every rank alone from the same facts, so that nobody has to ask. Pure; no file, no message.
#pragma once

#include <forebay/write_plan.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace forebay::write {

/// A rank by its number: those that compute come first, 0 … computing − 1, then those that are
/// given to I/O, each in the order that they have in the job.
using Rank = std::uint32_t;

/// A file of a step by its number, from 0.
using FileNumber = std::uint32_t;

/// The ranks of a job, by the node that each is on. Nodes have any numbers.
struct Crew {
  std::vector<std::uint32_t> node_of_computing;  ///< never empty
  std::vector<std::uint32_t> node_of_dedicated = {};

  std::uint32_t computing() const { return static_cast<std::uint32_t>(node_of_computing.size()); }
  std::uint32_t dedicated() const { return static_cast<std::uint32_t>(node_of_dedicated.size()); }
  std::uint32_t node_of(Rank rank) const {
    return rank < computing() ? node_of_computing[rank] : node_of_dedicated[rank - computing()];
  }
  /// Nodes that have a rank that computes.
  std::uint32_t node_count() const;
};

/// The ways of one plan.
///
/// Groups: ranks in the order of their nodes (and of their numbers on each) are cut into one group
/// in a row for each writer: on a node as equal as can be, the first ones one rank larger. With at
/// least as many writers as nodes no group reaches over two of them; with fewer, none ends within
/// one. The first rank of a group is its writer, unless ranks are given to I/O: then each writes
/// for ranks of its own node, and for those of nodes that have none.
///
/// Files: writers in that order are cut in the same way into one row for each file. The first of a
/// row owns the file: it gives out places in it, writes its index and reports to the coordinator.
class Routes {
 public:
  /// `plan` is complete, as plan_write() gave it for this crew.
  Routes(const Crew& crew, const WritePlan& plan);

  std::uint32_t computing() const { return static_cast<std::uint32_t>(writer_of_.size()); }
  std::uint32_t writer_count() const { return static_cast<std::uint32_t>(writers_.size()); }
  std::uint32_t file_count() const { return static_cast<std::uint32_t>(file_begins_.size()) - 1; }

  /// Who collects receipts and publishes steps.
  static constexpr Rank coordinator() { return 0; }

  /// All writers, in the order of their groups.
  std::span<const Rank> writers() const { return writers_; }
  bool is_writer(Rank rank) const { return writer_number_of(rank).has_value(); }

  /// Who stores the bytes of a rank that computes; itself, perhaps.
  Rank writer_of(Rank rank) const { return writer_of_[rank]; }
  /// The ranks whose bytes a writer stores, in the order of the chain, the nearest first: itself
  /// comes first, unless it is given to I/O. Empty for who is no writer, and for a dedicated rank
  /// for which no rank was left.
  std::span<const Rank> group_of(Rank writer) const;

  /// Where the bytes of a rank go from here, its own and those that pass through it: its writer;
  /// in a brigade the rank before it in the chain. No value for a writer: to storage.
  std::optional<Rank> next_of(Rank rank) const;
  /// Those whose next_of() it is, in the order of the chain.
  std::vector<Rank> sources_of(Rank rank) const;

  /// Whether a rank that computes cannot go on without the other one, whatever else there is.
  bool depends_on(Rank rank, Rank other) const;

  /// The file in which the bytes of a rank end up.
  FileNumber file_of(Rank rank) const;
  Rank owner_of(FileNumber file) const { return writers_of(file).front(); }
  /// Who writes to a file, in the order of the baton.
  std::span<const Rank> writers_of(FileNumber file) const;
  /// Who has the baton after this writer; no value after the last, with whom the step ends.
  std::optional<Rank> baton_after(Rank writer) const;

 private:
  void note_groups();
  void cut_files(std::uint32_t files);
  std::optional<std::uint32_t> writer_number_of(Rank rank) const;

  std::vector<Rank> writer_of_;
  std::vector<Rank> writers_;
  std::vector<std::uint32_t> writer_numbers_;  ///< of every rank; kNoWriter of who is none
  std::vector<std::vector<Rank>> groups_;      ///< by the number of the writer
  std::vector<std::uint32_t> places_;          ///< of a rank that computes, in its group
  std::vector<std::uint32_t> file_begins_;     ///< number of the first writer of each, and the end
  std::vector<FileNumber> file_of_writer_;
  bool is_chain_ = false;
};

}  // namespace forebay::write
