// SPDX-License-Identifier: Apache-2.0
#include "flow/checkpoint.hpp"

#include <array>
#include <bit>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kNumbers = 7;

/// The numbers of the array `settings`, and what users call them. The step is not compared.
using Numbers = std::array<std::uint64_t, kNumbers>;
constexpr std::size_t kStepsDone = 1;
constexpr std::array<std::string_view, kNumbers> kNames{
    "format", "step", "--problem", "--step-length", "--tolerance", "--restart", "mesh"};

Numbers numbers_of(const RunSettings& settings, std::uint64_t steps_done) {
  const SolverOptions& solver = settings.simulation.solver;
  return {kVersion,
          steps_done,
          static_cast<std::uint64_t>(settings.problem),
          std::bit_cast<std::uint64_t>(settings.simulation.step_length),
          std::bit_cast<std::uint64_t>(solver.tolerance),
          solver.restart,
          settings.mesh_fingerprint};
}

Status compare(const Numbers& wanted, std::span<const std::uint64_t> stored) {
  if (stored.size() != kNumbers || stored[kStepsDone] != wanted[kStepsDone]) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "resume",
                    .cause = fmt::format("settings of step {} are not those of a checkpoint",
                                         wanted[kStepsDone])});
  }
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (stored[i] == wanted[i]) continue;
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "resume",
                    .cause = fmt::format("the checkpoint was written with another {}; its run can "
                                         "only go on with the same",
                                         kNames[i])});
  }
  return {};
}

Status put_all(StepWriter& writer,
               const PartSet& set,
               const Numbers& numbers,
               std::span<const double> values) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const std::uint32_t part = set.parts()[i].number;
    Status put = writer.put_values({"solution", part}, set.piece(values, i));
    if (put && part == 0) put = writer.put_values<std::uint64_t>({"settings", 0}, numbers);
    if (!put) return put;
  }
  return {};
}

Result<Vector> get_all(StepReader& reader, const PartSet& set, const Numbers& wanted) {
  const auto numbers = reader.get_values<std::uint64_t>({"settings", 0});
  if (!numbers) return tl::unexpected<Error>(numbers.error());
  const Status compared = compare(wanted, *numbers);
  if (!compared) return tl::unexpected<Error>(compared.error());
  Vector values;
  for (const Part& part : set.parts()) {
    const auto piece = reader.get_values<double>({"solution", part.number});
    if (!piece) return tl::unexpected<Error>(piece.error());
    if (piece->size() != part.node_count()) {
      return failure({.kind = ErrorClass::kDamage,
                      .operation = "resume",
                      .cause = fmt::format("array solution of part {} has {} values, not {}",
                                           part.number, piece->size(), part.node_count())});
    }
    values.insert(values.end(), piece->begin(), piece->end());
  }
  return values;
}

}  // namespace

Status write_checkpoint(const Checkpoints& checkpoints, const Simulation& simulation) {
  const std::uint64_t step = simulation.steps_done();
  const auto writer = checkpoints.store.begin_step(step);
  if (!writer) return tl::unexpected<Error>(writer.error());
  const Numbers numbers = numbers_of(checkpoints.settings, step);
  const Status put =
      checkpoints.team.agree(put_all(**writer, checkpoints.set, numbers, simulation.values()));
  if (!put) return put;
  return (*writer)->commit();
}

Status read_checkpoint(const Checkpoints& checkpoints, std::uint64_t step, Simulation& simulation) {
  const auto reader = checkpoints.store.open_step(step);
  if (!reader) return tl::unexpected<Error>(reader.error());
  const Numbers wanted = numbers_of(checkpoints.settings, step);
  const Result<Vector> values = get_all(**reader, checkpoints.set, wanted);
  const Status agreed =
      checkpoints.team.agree(values ? Status() : tl::unexpected<Error>(values.error()));
  if (!agreed) return agreed;
  simulation.restore(step, *values);
  return {};
}

}  // namespace forebay::flow
