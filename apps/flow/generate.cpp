// SPDX-License-Identifier: Apache-2.0
#include "flow/generate.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "flow/part_builder.hpp"
#include "flow/part_map.hpp"
#include "flow/stored_mesh.hpp"

namespace forebay::flow {

using command::Json;

namespace {

/// Of a part, as all ranks get to know it.
struct PartSize {
  std::uint64_t nodes = 0;
  std::uint64_t elements = 0;
  std::uint64_t neighbours = 0;
  std::uint64_t shared_nodes = 0;
};

/// Makes and writes the parts of this rank.
Result<std::vector<PartSize>> write_parts(const Mesh& mesh,
                                          const Partition& partition,
                                          std::span<const std::uint32_t> numbers,
                                          StepWriter& step,
                                          command::Progress& progress) {
  std::vector<PartSize> sizes;
  for (const std::uint32_t number : numbers) {
    const Part part = make_part(mesh, partition, number);
    const Status put = put_part(step, part);
    if (!put) return failure(put.error());
    sizes.push_back(
        {part.node_count(), part.elements.size(), part.neighbours.size(), part.shared_count});
    progress.advance(1);
  }
  return sizes;
}

std::vector<PartSize> gather_sizes(const PartMap& map, Team& team, std::vector<PartSize> mine) {
  std::vector<std::size_t> bytes;
  for (std::uint32_t rank = 0; rank < map.rank_count(); ++rank)
    bytes.push_back(map.parts_of(rank).size() * sizeof(PartSize));
  std::vector<PartSize> all(map.part_count());
  team.gather_bytes(std::as_bytes(std::span(mine)), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

/// How a number varies over parts.
Json spread(const std::vector<PartSize>& sizes, std::uint64_t PartSize::* number) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  double sum = 0;
  for (const PartSize& size : sizes) {
    least = std::min(least, size.*number);
    most = std::max(most, size.*number);
    sum += static_cast<double>(size.*number);
  }
  const double mean = sum / static_cast<double>(sizes.size());
  const double uneven = mean > 0 ? static_cast<double>(most) / mean : 1;
  return {{"min", least}, {"mean", mean}, {"max", most}, {"max_over_mean", uneven}};
}

Json document(const GenerateOptions& options,
              const Mesh& mesh,
              const std::vector<PartSize>& sizes) {
  const bool is_tube = options.mesh.shape == Shape::kTube;
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
          {"part_nodes", spread(sizes, &PartSize::nodes)},
          {"part_elements", spread(sizes, &PartSize::elements)},
          {"part_shared_nodes", spread(sizes, &PartSize::shared_nodes)},
          {"part_neighbours", spread(sizes, &PartSize::neighbours)}};
}

/// A mesh that is there stays: runs may depend on it.
Status expect_empty(PartStore& store, const std::string& path) {
  const auto steps = store.steps();
  if (!steps) return failure(steps.error());
  if (steps->empty()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "generate",
                  .path = path,
                  .cause = "there is a mesh already; choose another name or remove it"});
}

/// Collective: puts all parts and commits them.
Result<std::vector<PartSize>> write_mesh(const GenerateOptions& options,
                                         const Mesh& mesh,
                                         const Partition& partition,
                                         PartStore& store,
                                         Team& team) {
  const auto step = store.begin_step(kMeshStep);
  if (!step) return failure(step.error());
  const PartMap map = map_in_blocks(partition.part_count(), team.size());
  const auto numbers = map.parts_of(team.rank());
  const auto mode = team.rank() == 0 ? options.progress : command::ProgressMode::kSilent;
  command::Progress progress(mode, {"making " + options.path, "parts", numbers.size()});
  auto sizes = write_parts(mesh, partition, numbers, **step, progress);
  Status put = sizes ? Status() : failure(sizes.error());
  if (put && team.rank() == 0) {
    put = put_facts(**step, {partition.part_count(), mesh.node_count(), mesh.element_count(),
                             options.mesh.seed});
  }
  Status done = team.agree(put);
  if (done) done = (*step)->commit();
  if (done) done = store.wait();
  if (!done) return failure(done.error());
  return gather_sizes(map, team, std::move(*sizes));
}

}  // namespace

Result<Json> generate(const GenerateOptions& options, const StoreOpener& open_store, Team& team) {
  const auto start = std::chrono::steady_clock::now();
  const Result<Mesh> mesh = Mesh::of(options.mesh);
  if (!mesh) return failure(mesh.error());
  const Result<Partition> partition = Partition::of(*mesh, options.partition);
  if (!partition) return failure(partition.error());
  const auto store = open_store(options.path, StoreUse::kWrite, team);
  if (!store) return failure(store.error());
  const Status empty = expect_empty(**store, options.path);
  if (!empty) return failure(empty.error());
  const auto sizes = write_mesh(options, *mesh, *partition, **store, team);
  if (!sizes) return failure(sizes.error());
  if (team.rank() != 0) return Json::object();
  Json made = document(options, *mesh, *sizes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  made["seconds"] = elapsed.count();
  return made;
}

}  // namespace forebay::flow
