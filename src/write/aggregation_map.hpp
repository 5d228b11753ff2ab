// SPDX-License-Identifier: Apache-2.0
// AggregationMap: for each rank its writer, its file and the next rank on the way to storage. Every
// rank computes it alone from the same facts, so it costs no messages. Pure: no files.
#pragma once

#include <forebay/write_plan.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace forebay::write {

/// Number of a rank. Compute ranks come first, 0 … count − 1, then I/O ranks, each in the order of
/// the job.
using RankNumber = std::uint32_t;

/// Number of a file of a step, from 0.
using FileNumber = std::uint32_t;

/// The ranks of a job by node. Node numbers are arbitrary.
struct RankLayout {
  std::vector<std::uint32_t> node_of_compute_rank;  ///< never empty
  std::vector<std::uint32_t> node_of_io_rank = {};

  std::uint32_t compute_rank_count() const {
    return static_cast<std::uint32_t>(node_of_compute_rank.size());
  }
  std::uint32_t io_rank_count() const { return static_cast<std::uint32_t>(node_of_io_rank.size()); }
  std::uint32_t node_of(RankNumber rank) const {
    return rank < compute_rank_count() ? node_of_compute_rank[rank]
                                       : node_of_io_rank[rank - compute_rank_count()];
  }
  /// Nodes that have a compute rank.
  std::uint32_t node_count() const;
};

/// Paths of bytes for one plan.
///
/// Ranks of a writer: compute ranks, sorted by node and then by number, are split into one
/// contiguous run for each writer. With at least as many writers as nodes, no run spans two nodes.
/// The runs of a node are as equal as possible; the first ones are one rank larger. With fewer
/// writers than nodes, each run consists of whole nodes. The first rank of a run is its writer,
/// unless I/O ranks write. Then each I/O rank that writes does so for ranks of its node, and for
/// nodes without such an I/O rank.
///
/// Ranks of a file: writers, in that order, are split into equal contiguous runs, one for each
/// file; the first runs may be one writer longer. A run may span nodes. The first writer of a run
/// owns the file: it allocates space, writes the index and reports to the coordinator.
class AggregationMap {
 public:
  /// `plan` must be complete, as plan_write() returned it for these ranks.
  AggregationMap(const RankLayout& rank_layout, const WritePlan& plan);

  std::uint32_t compute_rank_count() const { return static_cast<std::uint32_t>(writer_of_.size()); }
  std::uint32_t writer_count() const { return static_cast<std::uint32_t>(writers_.size()); }
  std::uint32_t file_count() const { return static_cast<std::uint32_t>(file_begins_.size()) - 1; }

  /// The rank that collects the reports of all ranks and publishes steps.
  static constexpr RankNumber coordinator() { return 0; }

  /// All writers, in the order of the runs of their ranks.
  std::span<const RankNumber> writers() const { return writers_; }
  bool is_writer(RankNumber rank) const { return writer_index_of(rank).has_value(); }

  /// The writer that stores the bytes of a compute rank; it may be that rank.
  RankNumber writer_of(RankNumber rank) const { return writer_of_[rank]; }
  /// The ranks whose bytes a writer stores, in chain order: the rank nearest to the writer is
  /// first. A compute rank that writes is the first of its own ranks. Empty for a rank that is no
  /// writer, and for an I/O rank to which no compute rank is assigned.
  std::span<const RankNumber> ranks_of_writer(RankNumber writer) const;

  /// The rank to which a rank sends its bytes and those that it forwards. This is its writer, or in
  /// a brigade the rank before it in the chain. No value for a writer, which writes to storage, and
  /// for an I/O rank that does not write.
  std::optional<RankNumber> next_hop(RankNumber rank) const;
  /// The ranks whose next_hop() is `rank`, in chain order.
  std::vector<RankNumber> sources_of(RankNumber rank) const;

  /// True if a compute rank cannot complete any step without `other`: the coordinator, its writer,
  /// the owner of its file, or its next_hop().
  bool depends_on(RankNumber rank, RankNumber other) const;

  /// The file that receives the bytes of a rank.
  FileNumber file_of(RankNumber rank) const;
  RankNumber owner_of(FileNumber file) const { return writers_of(file).front(); }
  /// True if the rank owns the file that file_of() returns for it.
  bool is_owner(RankNumber rank) const {
    return is_writer(rank) && owner_of(file_of(rank)) == rank;
  }
  /// The writers of a file, in the order of writers().
  std::span<const RankNumber> writers_of(FileNumber file) const;
  /// The compute ranks whose bytes a file receives, by number.
  std::vector<RankNumber> ranks_of_file(FileNumber file) const;

 private:
  void index_ranks();
  void assign_files(std::uint32_t files);
  std::optional<std::uint32_t> writer_index_of(RankNumber rank) const;

  std::vector<RankNumber> writer_of_;
  std::vector<RankNumber> writers_;
  /// By rank; kNoWriter if it does not write.
  std::vector<std::uint32_t> writer_index_of_rank_;
  std::vector<std::vector<RankNumber>> ranks_of_writers_;  ///< by writer index
  std::vector<std::uint32_t> chain_positions_;  ///< of a compute rank among the ranks of its writer
  std::vector<std::uint32_t> file_begins_;  ///< index of the first writer of each file; then the
                                            ///< end
  std::vector<FileNumber> file_of_writer_;
  bool is_chain_ = false;
};

}  // namespace forebay::write
