// SPDX-License-Identifier: Apache-2.0
#include "flow/checkpoint.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kNumbers = 8;

/// The numbers of the array `settings`, and what users call them. The step is not compared.
using Numbers = std::array<std::uint64_t, kNumbers>;
constexpr std::size_t kStepsDone = 1;
constexpr std::array<std::string_view, kNumbers> kNames{"format",        "step",        "--problem",
                                                        "--step-length", "--tolerance", "--restart",
                                                        "mesh",          "--averages"};

Numbers numbers_of(const RunSettings& settings, std::uint64_t steps_done) {
  const SolverOptions& solver = settings.simulation.solver;
  return {kVersion,
          steps_done,
          static_cast<std::uint64_t>(settings.problem),
          std::bit_cast<std::uint64_t>(settings.simulation.step_length),
          std::bit_cast<std::uint64_t>(solver.tolerance),
          solver.restart,
          settings.mesh_fingerprint,
          settings.simulation.averages};
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

/// What is kept of a simulation, for all nodes of a rank.
struct State {
  std::span<const double> values;
  std::span<const double> averages;
};

Status put_all(StepWriter& writer, const PartSet& set, const Numbers& numbers, const State& state) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const std::uint32_t part = set.parts()[i].number;
    Status put = writer.put_values({"solution", part}, set.piece(state.values, i));
    const auto width = static_cast<std::uint32_t>(numbers.back());
    if (put && width > 0)
      put = writer.put_values({"averages", part}, set.rows(state.averages, width, i), width);
    if (put && part == 0) put = writer.put_values<std::uint64_t>({"settings", 0}, numbers);
    if (!put) return put;
  }
  return {};
}

/// Appends an array of a part.
Status get_piece(StepReader& reader, const ArrayName& name, const ArrayShape& shape, Vector& into) {
  const auto piece = reader.get_values<double>(name, shape.width);
  if (!piece) return failure(piece.error());
  const std::uint64_t rows = piece->size() / shape.width;
  if (rows != shape.rows) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "resume",
                    .cause = fmt::format("array {} of part {} is of {} nodes, not {}", name.name,
                                         name.part, rows, shape.rows)});
  }
  into.insert(into.end(), piece->begin(), piece->end());
  return {};
}

struct ReadState {
  Vector values;
  Vector averages;
};

Result<ReadState> get_all(StepReader& reader, const PartSet& set, const Numbers& wanted) {
  const auto numbers = reader.get_values<std::uint64_t>({"settings", 0});
  if (!numbers) return failure(numbers.error());
  const Status compared = compare(wanted, *numbers);
  if (!compared) return failure(compared.error());
  ReadState state;
  for (const Part& part : set.parts()) {
    ArrayShape shape{.kind = ElementKind::kF64, .width = 1, .rows = part.node_count()};
    Status got = get_piece(reader, {"solution", part.number}, shape, state.values);
    shape.width = static_cast<std::uint32_t>(wanted.back());
    if (got && shape.width > 0)
      got = get_piece(reader, {"averages", part.number}, shape, state.averages);
    if (!got) return failure(got.error());
  }
  return state;
}

}  // namespace

Status write_checkpoint(const Checkpoints& checkpoints, const Simulation& simulation) {
  const std::uint64_t step = simulation.steps_done();
  const auto writer = checkpoints.store.begin_step(step);
  if (!writer) return failure(writer.error());
  const Numbers numbers = numbers_of(checkpoints.settings, step);
  const State state{simulation.values(), simulation.averages()};
  const Status put = checkpoints.team.agree(put_all(**writer, checkpoints.set, numbers, state));
  if (!put) return put;
  return (*writer)->commit();
}

Status read_checkpoint(const Checkpoints& checkpoints, std::uint64_t step, Simulation& simulation) {
  const auto reader = checkpoints.store.open_step(step);
  if (!reader) return failure(reader.error());
  const Numbers wanted = numbers_of(checkpoints.settings, step);
  const Result<ReadState> state = get_all(**reader, checkpoints.set, wanted);
  const Status agreed = checkpoints.team.agree(state ? Status() : failure(state.error()));
  if (!agreed) return agreed;
  simulation.restore(step, state->values, state->averages);
  return {};
}

}  // namespace forebay::flow
