// SPDX-License-Identifier: Apache-2.0
#include "tipsy/analyze.hpp"

#include <cmath>
#include <numbers>

#include "tipsy/analysis_sums.hpp"
#include "tipsy/sample.hpp"

namespace forebay::tipsy {

namespace {

double volume_between(double inner, double outer) {
  return 4 * std::numbers::pi / 3 * (outer * outer * outer - inner * inner * inner);
}

Json shells_json(const RadialBins& shells, const AnalysisSums& sums) {
  Json list = Json::array();
  for (std::size_t i = 0; i < shells.count(); ++i) {
    const double inner = shells.inner_edge(i);
    const double outer = shells.outer_edge(i);
    const double mass = sums.shell_masses()[i + 1];
    list.push_back({{"inner", inner},
                    {"outer", outer},
                    {"count", sums.shell_counts()[i + 1]},
                    {"mass", mass},
                    {"density", mass / volume_between(inner, outer)}});
  }
  return list;
}

Json profile_json(const Sample& sample, const RadialBins& shells, const AnalysisSums& sums) {
  const auto rest = [&](double radius, std::size_t bin) -> Json {
    return {{"radius", radius},
            {"count", sums.shell_counts()[bin]},
            {"mass", sums.shell_masses()[bin]}};
  };
  return {{"center", sample.center},
          {"sampled_particles", sample.particle_count},
          {"inside", rest(sample.inner_radius, 0)},
          {"outside", rest(sample.outer_radius, shells.bin_count() - 1)},
          {"shells", shells_json(shells, sums)}};
}

Json families_json(const Counts& counts, const AnalysisSums& sums) {
  Json json;
  for (const Family family : kFamilies) {
    json[std::string(name_of(family))] = {{"count", counts.of(family)},
                                          {"mass", sums.mass_of(family)}};
  }
  return json;
}

Json dispersion_json(const Vector3& axes) {
  const double total = std::sqrt(axes[0] * axes[0] + axes[1] * axes[1] + axes[2] * axes[2]);
  return {{"total", total}, {"axes", axes}};
}

/// Fails if sums are not finite, so that the document never contains them.
Status check_sums(const Snapshot& snapshot, const AnalysisSums& sums) {
  bool finite = std::isfinite(sums.mass());
  for (const Vector3& vector : {sums.center_of_mass(), sums.mean_velocity(), sums.dispersion()}) {
    for (const double x : vector)
      finite = finite && std::isfinite(x);
  }
  if (sums.mass() > 0 && finite) return {};
  const bool massless = sums.mass() <= 0;
  return failure({.kind = massless ? ErrorClass::kInvalidArgument : ErrorClass::kDamage,
                  .operation = "analyze",
                  .path = snapshot.path,
                  .cause = massless
                               ? "the total mass of the particles is not above 0"
                               : "some numbers are not finite; 'check' reports their offsets"});
}

}  // namespace

Result<Json> analyze(const AnalyzeOptions& options) {
  auto opened = SnapshotRun::open(options.run);
  if (!opened) return failure(opened.error());
  SnapshotRun& run = **opened;
  const Result<Layout> layout = run.snapshot().layout();
  if (!layout) return failure(layout.error());

  const Result<Sample> sample = read_sample(run.source(), *layout);
  if (!sample) return failure(sample.error());
  run.times.sample_s = run.stopwatch().elapsed_s() - run.times.open_s;
  const RadialBins shells(sample->inner_radius, sample->outer_radius, options.shells);
  const AnalysisSums empty({sample->center, sample->mean_velocity, &shells});
  const Result<AnalysisSums> sums = run.scan(empty);
  if (!sums) return failure(sums.error());
  if (const Status usable = check_sums(run.snapshot(), *sums); !usable) {
    return failure(usable.error());
  }

  const std::uint64_t bytes = records_bytes(layout->counts, layout->precision);
  Json json{{"snapshot", to_json(run.snapshot())}};
  json.update(run.describe());
  json.update({{"mass", sums->mass()},
               {"center_of_mass", sums->center_of_mass()},
               {"mean_velocity", sums->mean_velocity()},
               {"velocity_dispersion", dispersion_json(sums->dispersion())},
               {"families", families_json(layout->counts, *sums)},
               {"profile", profile_json(*sample, shells, *sums)},
               {"bytes", bytes},
               {"bytes_per_s", static_cast<double>(bytes) / run.times.total_s}});
  return json;
}

}  // namespace forebay::tipsy
