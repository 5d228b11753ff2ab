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
constexpr std::size_t kSettingCount = 8;

/// The numbers of the array `settings`, and the names in error texts. The step is not compared.
using EncodedSettings = std::array<std::uint64_t, kSettingCount>;
constexpr std::size_t kStepsDone = 1;
constexpr std::array<std::string_view, kSettingCount> kNames{
    "format",      "step",      "--problem", "--step-length",
    "--tolerance", "--restart", "mesh",      "--averages"};

EncodedSettings encode_settings(const RunSettings& settings, std::uint64_t steps_done) {
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

Status compare(const EncodedSettings& wanted, std::span<const std::uint64_t> stored) {
  if (stored.size() != kSettingCount || stored[kStepsDone] != wanted[kStepsDone]) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "resume",
                    .cause = fmt::format("settings of step {} are not those of a checkpoint",
                                         wanted[kStepsDone])});
  }
  for (std::size_t i = 0; i < kSettingCount; ++i) {
    if (stored[i] == wanted[i]) continue;
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "resume",
                    .cause = fmt::format("the checkpoint was written with another {}; resume "
                                         "with the same",
                                         kNames[i])});
  }
  return {};
}

/// The stored state of a simulation, for all nodes of a rank.
struct State {
  std::span<const double> values;
  std::span<const double> averages;
};

Status put_state(PartStepWriter& writer,
                 const PartSet& set,
                 const EncodedSettings& numbers,
                 const State& state) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    const std::uint32_t part = set.parts()[i].number;
    Status put = writer.put_values({"solution", part}, set.slice(state.values, i));
    const auto width = static_cast<std::uint32_t>(numbers.back());
    if (put && width > 0)
      put = writer.put_values({"averages", part}, set.rows(state.averages, width, i), width);
    if (put && part == 0) put = writer.put_values<std::uint64_t>({"settings", 0}, numbers);
    if (!put) return put;
  }
  return {};
}

/// Appends an array of a part to `into`.
Status append_array(PartStepReader& reader,
                    const ArrayName& name,
                    const ArrayShape& shape,
                    Vector& into) {
  const auto piece = reader.get_values<double>(name, shape.width);
  if (!piece) return failure(piece.error());
  const std::uint64_t rows = piece->size() / shape.width;
  if (rows != shape.rows) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "resume",
                    .cause = fmt::format("array {} of part {} has {} nodes, not {}", name.name,
                                         name.part, rows, shape.rows)});
  }
  into.insert(into.end(), piece->begin(), piece->end());
  return {};
}

struct LoadedState {
  Vector values;
  Vector averages;
};

Result<LoadedState> get_state(PartStepReader& reader,
                              const PartSet& set,
                              const EncodedSettings& wanted) {
  const auto numbers = reader.get_values<std::uint64_t>({"settings", 0});
  if (!numbers) return failure(numbers.error());
  const Status compared = compare(wanted, *numbers);
  if (!compared) return failure(compared.error());
  LoadedState state;
  for (const MeshPart& part : set.parts()) {
    ArrayShape shape{.type = ScalarType::kF64, .width = 1, .rows = part.node_count()};
    Status got = append_array(reader, {"solution", part.number}, shape, state.values);
    shape.width = static_cast<std::uint32_t>(wanted.back());
    if (got && shape.width > 0)
      got = append_array(reader, {"averages", part.number}, shape, state.averages);
    if (!got) return failure(got.error());
  }
  return state;
}

}  // namespace

Status write_checkpoint(const CheckpointContext& context, const Simulation& simulation) {
  const std::uint64_t step = simulation.steps_done();
  const auto writer = context.store.begin_step(step);
  if (!writer) return failure(writer.error());
  const EncodedSettings numbers = encode_settings(context.settings, step);
  const State state{simulation.values(), simulation.averages()};
  const Status put = context.comm.agree(put_state(**writer, context.set, numbers, state));
  if (!put) return put;
  return (*writer)->commit();
}

Status read_checkpoint(const CheckpointContext& context,
                       std::uint64_t step,
                       Simulation& simulation) {
  const auto reader = context.store.open_step(step);
  if (!reader) return failure(reader.error());
  const EncodedSettings wanted = encode_settings(context.settings, step);
  const Result<LoadedState> state = get_state(**reader, context.set, wanted);
  const Status agreed = context.comm.agree(state ? Status() : failure(state.error()));
  if (!agreed) return agreed;
  simulation.restore(step, state->values, state->averages);
  return {};
}

}  // namespace forebay::flow
