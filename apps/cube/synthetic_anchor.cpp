// SPDX-License-Identifier: Apache-2.0
// The program and machine of a synthetic profile: names as in a Score-P profile of a multi-zone
// benchmark with processes and threads.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "cube/synthetic.hpp"

namespace forebay::cube {

namespace {

struct MetricName {
  std::string_view unique_name;
  std::string_view display_name;
  std::string_view unit;
  MetricKind kind;
  ValueKind type;
};
constexpr std::array kMetrics{
    MetricName{"visits", "Visits", "occ", MetricKind::kExclusive, ValueKind::kUint64},
    MetricName{"time", "Time", "sec", MetricKind::kInclusive, ValueKind::kDouble},
    MetricName{"min_time", "Minimum Inclusive Time", "sec", MetricKind::kExclusive,
               ValueKind::kMinDouble},
    MetricName{"max_time", "Maximum Inclusive Time", "sec", MetricKind::kExclusive,
               ValueKind::kMaxDouble},
    MetricName{"bytes_sent", "bytes_sent", "bytes", MetricKind::kExclusive, ValueKind::kUint64},
    MetricName{"bytes_received", "bytes_received", "bytes", MetricKind::kExclusive,
               ValueKind::kUint64},
    MetricName{"PAPI_TOT_CYC", "PAPI_TOT_CYC", "#", MetricKind::kInclusive, ValueKind::kUint64},
    MetricName{"PAPI_TOT_INS", "PAPI_TOT_INS", "#", MetricKind::kInclusive, ValueKind::kUint64},
    MetricName{"PAPI_FP_OPS", "PAPI_FP_OPS", "#", MetricKind::kInclusive, ValueKind::kInt64},
    MetricName{"PAPI_L2_TCM", "PAPI_L2_TCM", "#", MetricKind::kInclusive, ValueKind::kUint64},
    MetricName{"PAPI_L3_TCM", "PAPI_L3_TCM", "#", MetricKind::kInclusive, ValueKind::kUint64},
};

struct PathName {
  std::uint32_t depth;
  std::string_view name;
  std::string_view paradigm;
};
/// Depth first. The parent of a call path is the last one before it that is one level higher.
constexpr std::array kPaths{
    PathName{0, "bt_mz", "compiler"},
    PathName{1, "mpi_setup_", "compiler"},
    PathName{2, "MPI_Init_thread", "mpi"},
    PathName{2, "MPI_Comm_size", "mpi"},
    PathName{2, "MPI_Comm_rank", "mpi"},
    PathName{2, "MPI_Comm_split", "mpi"},
    PathName{1, "env_setup_", "compiler"},
    PathName{2, "MPI_Bcast", "mpi"},
    PathName{1, "zone_setup_", "compiler"},
    PathName{1, "map_zones_", "compiler"},
    PathName{2, "get_comm_index_", "compiler"},
    PathName{1, "zone_starts_", "compiler"},
    PathName{1, "set_constants_", "compiler"},
    PathName{1, "initialize_", "compiler"},
    PathName{2, "!$omp parallel @initialize.f:28", "openmp"},
    PathName{3, "!$omp do @initialize.f:31", "openmp"},
    PathName{3, "!$omp implicit barrier @initialize.f:204", "openmp"},
    PathName{1, "exact_rhs_", "compiler"},
    PathName{2, "!$omp parallel @exact_rhs.f:21", "openmp"},
    PathName{3, "!$omp do @exact_rhs.f:31", "openmp"},
    PathName{3, "!$omp implicit barrier @exact_rhs.f:357", "openmp"},
    PathName{1, "exch_qbc_", "compiler"},
    PathName{2, "copy_x_face_", "compiler"},
    PathName{3, "!$omp parallel @exch_qbc.f:215", "openmp"},
    PathName{4, "!$omp do @exch_qbc.f:215", "openmp"},
    PathName{2, "copy_y_face_", "compiler"},
    PathName{3, "!$omp parallel @exch_qbc.f:255", "openmp"},
    PathName{4, "!$omp do @exch_qbc.f:255", "openmp"},
    PathName{2, "MPI_Isend", "mpi"},
    PathName{2, "MPI_Irecv", "mpi"},
    PathName{2, "MPI_Waitall", "mpi"},
    PathName{1, "adi_", "compiler"},
    PathName{2, "compute_rhs_", "compiler"},
    PathName{3, "!$omp parallel @rhs.f:28", "openmp"},
    PathName{4, "!$omp do @rhs.f:37", "openmp"},
    PathName{4, "!$omp do @rhs.f:191", "openmp"},
    PathName{4, "!$omp implicit barrier @rhs.f:439", "openmp"},
    PathName{2, "x_solve_", "compiler"},
    PathName{3, "!$omp parallel @x_solve.f:46", "openmp"},
    PathName{4, "!$omp do @x_solve.f:54", "openmp"},
    PathName{2, "y_solve_", "compiler"},
    PathName{3, "!$omp parallel @y_solve.f:43", "openmp"},
    PathName{4, "!$omp do @y_solve.f:52", "openmp"},
    PathName{2, "z_solve_", "compiler"},
    PathName{3, "!$omp parallel @z_solve.f:43", "openmp"},
    PathName{4, "!$omp do @z_solve.f:52", "openmp"},
    PathName{2, "add_", "compiler"},
    PathName{3, "!$omp parallel @add.f:22", "openmp"},
    PathName{4, "!$omp do @add.f:22", "openmp"},
    PathName{1, "MPI_Barrier", "mpi"},
    PathName{1, "verify_", "compiler"},
    PathName{2, "error_norm_", "compiler"},
    PathName{2, "rhs_norm_", "compiler"},
    PathName{2, "MPI_Reduce", "mpi"},
    PathName{1, "print_results_", "compiler"},
    PathName{1, "MPI_Finalize", "mpi"},
};
static_assert(kPaths.size() == 56);

Metric metric_at(std::uint32_t index, const std::optional<ValueType>& type) {
  const MetricName& name = kMetrics[index % kMetrics.size()];
  const std::size_t round = index / kMetrics.size();
  const std::string ending = round == 0 ? "" : fmt::format("_{}", round);
  return {.id = index,
          .kind = name.kind,
          .type = type.value_or(ValueType{name.type, 1}),
          .unique_name = std::string(name.unique_name) + ending,
          .display_name = std::string(name.display_name) + ending,
          .unit = std::string(name.unit),
          .attributes = {}};
}

/// Call paths beyond the table are functions below the root.
PathName path_at(std::uint32_t index) {
  return index < kPaths.size() ? kPaths[index] : PathName{1, "", "compiler"};
}

void add_program(Anchor& anchor, std::uint32_t call_paths) {
  std::vector<std::uint32_t> path;
  for (std::uint32_t index = 0; index < call_paths; ++index) {
    const PathName name = path_at(index);
    path.resize(name.depth);
    const std::string text =
        name.name.empty() ? fmt::format("zone_{}_", index) : std::string(name.name);
    anchor.regions.push_back({.id = index,
                              .name = text,
                              .mangled_name = text,
                              .module = "bt-mz.f",
                              .paradigm = std::string(name.paradigm),
                              .role = "function"});
    anchor.call_tree.add({.id = index,
                          .region = index,
                          .parent = path.empty() ? kNone : path.back(),
                          .parameters = {}});
    path.push_back(index);
  }
}

void add_process(Anchor& anchor, std::uint32_t rank, std::uint32_t threads) {
  if (rank % kProcessesPerNode == 0) {
    const auto id = static_cast<std::uint32_t>(anchor.nodes.size());
    anchor.nodes.push_back({id, fmt::format("node {:05}", id - 1), "node", 0});
  }
  anchor.groups.push_back({.id = rank,
                           .name = fmt::format("MPI Rank {}", rank),
                           .rank = rank,
                           .type = "process",
                           .node = static_cast<std::uint32_t>(anchor.nodes.size() - 1)});
  for (std::uint32_t i = 0; i < threads; ++i) {
    anchor.locations.push_back({.name = i == 0 ? "Master thread" : fmt::format("OMP thread {}", i),
                                .rank = i,
                                .type = "thread",
                                .group = rank});
  }
}

}  // namespace

Anchor synthetic_anchor(const SyntheticOptions& shape) {
  Anchor anchor;
  anchor.version = "4.4";
  anchor.attributes = {{"Creator", "forebay cube generate"}, {"Cube Version", "4.4"}};
  for (std::uint32_t i = 0; i < shape.metrics; ++i)
    anchor.metrics.push_back(metric_at(i, shape.type));
  add_program(anchor, shape.call_paths);
  anchor.nodes.push_back({0, "machine", "machine", kNone});
  anchor.locations.reserve(shape.locations);
  for (std::uint32_t rank = 0; anchor.locations.size() < shape.locations; ++rank) {
    const std::uint32_t left = shape.locations - anchor.location_count();
    add_process(anchor, rank, std::min(left, kThreadsPerProcess));
  }
  return anchor;
}

}  // namespace forebay::cube
