// SPDX-License-Identifier: Apache-2.0
#include "tipsy/analyse.hpp"

#include <cmath>
#include <numbers>

#include "tipsy/sample.hpp"
#include "tipsy/sums.hpp"

namespace forebay::tipsy {

namespace {

double volume_between(double inner, double outer) {
  return 4 * std::numbers::pi / 3 * (outer * outer * outer - inner * inner * inner);
}

Json shells_json(const Shells& shells, const AnalysisSums& sums) {
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

Json profile_json(const Sample& sample, const Shells& shells, const AnalysisSums& sums) {
  const auto rest = [&](double radius, std::size_t slot) -> Json {
    return {{"radius", radius},
            {"count", sums.shell_counts()[slot]},
            {"mass", sums.shell_masses()[slot]}};
  };
  return {{"centre", sample.centre},
          {"sampled_particles", sample.particle_count},
          {"inside", rest(sample.inner_radius, 0)},
          {"outside", rest(sample.outer_radius, shells.slot_count() - 1)},
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

Json dispersion_json(const Vector& axes) {
  const double total = std::sqrt(axes[0] * axes[0] + axes[1] * axes[1] + axes[2] * axes[2]);
  return {{"total", total}, {"axes", axes}};
}

/// Results that are no numbers must not look like results.
Status check_sums(const Snapshot& snapshot, const AnalysisSums& sums) {
  bool finite = std::isfinite(sums.mass());
  for (const Vector& vector : {sums.centre_of_mass(), sums.mean_velocity(), sums.dispersion()}) {
    for (const double x : vector)
      finite = finite && std::isfinite(x);
  }
  if (sums.mass() > 0 && finite) return {};
  const bool massless = sums.mass() <= 0;
  return failure({.kind = massless ? ErrorClass::kInvalidArgument : ErrorClass::kDamage,
                  .operation = "analyse",
                  .path = snapshot.path,
                  .cause = massless ? "the particles have no mass together"
                                    : "some numbers are not finite; 'check' says where"});
}

}  // namespace

Result<Json> analyse(const AnalyseOptions& options) {
  auto opened = Run::open(options.run);
  if (!opened) return failure(opened.error());
  Run& run = **opened;
  const Result<Layout> layout = run.snapshot().layout();
  if (!layout) return failure(layout.error());

  const Result<Sample> sample = take_sample(run.source(), *layout);
  if (!sample) return failure(sample.error());
  run.times.sample_s = run.watch().elapsed_s() - run.times.open_s;
  const Shells shells(sample->inner_radius, sample->outer_radius, options.shells);
  const AnalysisSums empty({sample->centre, sample->mean_velocity, &shells});
  const Result<AnalysisSums> sums = run.survey(empty);
  if (!sums) return failure(sums.error());
  if (const Status usable = check_sums(run.snapshot(), *sums); !usable) {
    return failure(usable.error());
  }

  const std::uint64_t bytes = records_bytes(layout->counts, layout->precision);
  Json json{{"snapshot", to_json(run.snapshot())}};
  json.update(run.describe());
  json.update({{"mass", sums->mass()},
               {"centre_of_mass", sums->centre_of_mass()},
               {"mean_velocity", sums->mean_velocity()},
               {"velocity_dispersion", dispersion_json(sums->dispersion())},
               {"families", families_json(layout->counts, *sums)},
               {"profile", profile_json(*sample, shells, *sums)},
               {"bytes", bytes},
               {"bytes_per_s", static_cast<double>(bytes) / run.times.total_s}});
  return json;
}

}  // namespace forebay::tipsy
