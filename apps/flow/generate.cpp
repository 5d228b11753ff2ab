// SPDX-License-Identifier: Apache-2.0
#include "flow/generate.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "flow/mesh_io.hpp"
#include "flow/part_builder.hpp"
#include "flow/part_map.hpp"

namespace forebay::flow {

using command::Json;

namespace {

/// Size of a part, gathered on all ranks.
struct PartSize {
  std::uint64_t nodes = 0;
  std::uint64_t elements = 0;
  std::uint64_t neighbors = 0;
  std::uint64_t shared_nodes = 0;
};

/// Generates and writes the parts of this rank.
Result<std::vector<PartSize>> write_parts(const Mesh& mesh,
                                          const Partition& partition,
                                          std::span<const std::uint32_t> numbers,
                                          PartStepWriter& step,
                                          command::Progress& progress) {
  std::vector<PartSize> sizes;
  for (const std::uint32_t number : numbers) {
    const MeshPart part = build_part(mesh, partition, number);
    const Status put = put_part(step, part);
    if (!put) return failure(put.error());
    sizes.push_back(
        {part.node_count(), part.elements.size(), part.neighbors.size(), part.shared_count});
    progress.advance(1);
  }
  return sizes;
}

std::vector<PartSize> gather_sizes(const PartMap& map,
                                   SolverComm& comm,
                                   std::vector<PartSize> local) {
  std::vector<std::size_t> bytes;
  for (std::uint32_t rank = 0; rank < map.rank_count(); ++rank)
    bytes.push_back(map.parts_of(rank).size() * sizeof(PartSize));
  std::vector<PartSize> sizes(map.part_count());
  comm.allgatherv(std::as_bytes(std::span(local)), bytes, std::as_writable_bytes(std::span(sizes)));
  return sizes;
}

/// Minimum, mean and maximum of a number over parts.
Json summarize(const std::vector<PartSize>& sizes, std::uint64_t PartSize::* number) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  double sum = 0;
  for (const PartSize& size : sizes) {
    least = std::min(least, size.*number);
    most = std::max(most, size.*number);
    sum += static_cast<double>(size.*number);
  }
  const double mean = sum / static_cast<double>(sizes.size());
  const double max_over_mean = mean > 0 ? static_cast<double>(most) / mean : 1;
  return {{"min", least}, {"mean", mean}, {"max", most}, {"max_over_mean", max_over_mean}};
}

Json document(const GenerateOptions& options,
              const Mesh& mesh,
              const std::vector<PartSize>& sizes) {
  const bool is_tube = options.mesh.shape == MeshShape::kTube;
  const Json of_mesh{{"path", options.path},
                     {"shape", is_tube ? "tube" : "box"},
                     {"cells_across", options.mesh.cells_across},
                     {"cells_along", options.mesh.cells_along},
                     {"grading", options.mesh.grading},
                     {"seed", options.mesh.seed},
                     {"nodes", mesh.node_count()},
                     {"elements", mesh.element_count()}};
  return {{"mesh", of_mesh},
          {"parts", sizes.size()},
          {"part_nodes", summarize(sizes, &PartSize::nodes)},
          {"part_elements", summarize(sizes, &PartSize::elements)},
          {"part_shared_nodes", summarize(sizes, &PartSize::shared_nodes)},
          {"part_neighbors", summarize(sizes, &PartSize::neighbors)}};
}

/// Fails if the store has a mesh: it is never replaced, as runs may depend on it.
Status require_empty(PartStore& store, const std::string& path) {
  const auto steps = store.steps();
  if (!steps) return failure(steps.error());
  if (steps->empty()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "generate",
                  .path = path,
                  .cause = "the store has a mesh already; choose another path or remove it"});
}

/// Collective: puts all parts and commits them.
Result<std::vector<PartSize>> write_mesh(const GenerateOptions& options,
                                         const Mesh& mesh,
                                         const Partition& partition,
                                         PartStore& store,
                                         SolverComm& comm) {
  const auto step = store.begin_step(kMeshStep);
  if (!step) return failure(step.error());
  const PartMap map = make_block_map(partition.part_count(), comm.size());
  const auto numbers = map.parts_of(comm.rank());
  const auto mode = comm.rank() == 0 ? options.progress : command::ProgressMode::kSilent;
  command::Progress progress(mode, {"making " + options.path, "parts", numbers.size()});
  auto sizes = write_parts(mesh, partition, numbers, **step, progress);
  Status put = sizes ? Status() : failure(sizes.error());
  if (put && comm.rank() == 0) {
    put = put_mesh_info(**step, {partition.part_count(), mesh.node_count(), mesh.element_count(),
                                 options.mesh.seed});
  }
  Status done = comm.agree(put);
  if (done) done = (*step)->commit();
  if (done) done = store.wait();
  if (!done) return failure(done.error());
  return gather_sizes(map, comm, std::move(*sizes));
}

}  // namespace

Result<Json> generate(const GenerateOptions& options,
                      const StoreOpener& open_store,
                      SolverComm& comm) {
  const auto start = std::chrono::steady_clock::now();
  const Result<Mesh> mesh = Mesh::create(options.mesh);
  if (!mesh) return failure(mesh.error());
  const Result<Partition> partition = Partition::create(*mesh, options.partition);
  if (!partition) return failure(partition.error());
  const auto store = open_store(options.path, StoreMode::kWrite, comm);
  if (!store) return failure(store.error());
  const Status empty = require_empty(**store, options.path);
  if (!empty) return failure(empty.error());
  const auto sizes = write_mesh(options, *mesh, *partition, **store, comm);
  if (!sizes) return failure(sizes.error());
  if (comm.rank() != 0) return Json::object();
  Json made = document(options, *mesh, *sizes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  made["seconds"] = elapsed.count();
  return made;
}

}  // namespace forebay::flow
