// SPDX-License-Identifier: Apache-2.0
// Compares the analysis with a plain loop over all particles, and between sources and numbers of
// threads and tasks, which must not change it.
#include "tipsy/analyze.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tipsy/sample.hpp"
#include "tipsy/testing.hpp"

namespace forebay::tipsy {
namespace {

using testing::TempDirectory;

/// Results that must be equal, bit for bit, between two runs.
std::string results_of(const Json& document) {
  Json kept;
  for (const char* key :
       {"mass", "center_of_mass", "mean_velocity", "velocity_dispersion", "families", "profile"}) {
    kept[key] = document.at(key);
  }
  return kept.dump();
}

class AnalyzeTest : public ::testing::Test {
 protected:
  void write_snapshot(const Layout& layout) {
    layout_ = layout;
    particles_ = testing::random_particles(layout.counts.total(), 17);
    testing::write_file(path(), testing::encode_snapshot(layout, particles_));
    // The particles as stored: their coordinates were rounded.
    particles_ = testing::decode_snapshot(layout, testing::read_file(path()));
  }
  std::string path() const { return directory_.file("snapshot.tipsy"); }
  AnalyzeOptions options(SourceKind source, std::uint64_t tasks, unsigned threads) const {
    AnalyzeOptions options;
    options.run.path = path();
    options.run.named_precision = layout_.precision;
    options.run.source.kind = source;
    options.run.tasks = tasks;
    options.run.threads = threads;
    return options;
  }
  Json run_analysis(SourceKind source, std::uint64_t tasks, unsigned threads = 2) const {
    const auto document = analyze(options(source, tasks, threads));
    EXPECT_TRUE(document) << document.error().message();
    return document ? *document : Json();
  }

  TempDirectory directory_;
  Layout layout_;
  std::vector<Particle> particles_;
};

/// The same quantities in extended precision, in the simplest way.
struct ReferenceSums {
  long double mass = 0;
  std::array<long double, 3> center{};
  std::array<long double, 3> velocity{};
  std::array<long double, 3> dispersion{};
};

ReferenceSums compute_reference(const std::vector<Particle>& particles) {
  ReferenceSums sums;
  for (const Particle& particle : particles) {
    sums.mass += particle.mass;
    for (std::size_t i = 0; i < 3; ++i) {
      sums.center[i] += static_cast<long double>(particle.mass) * particle.position[i];
      sums.velocity[i] += static_cast<long double>(particle.mass) * particle.velocity[i];
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    sums.center[i] /= sums.mass;
    sums.velocity[i] /= sums.mass;
    for (const Particle& particle : particles) {
      const long double v = particle.velocity[i] - sums.velocity[i];
      sums.dispersion[i] += particle.mass * v * v;
    }
    sums.dispersion[i] = std::sqrt(sums.dispersion[i] / sums.mass);
  }
  return sums;
}

void expect_near(const Json& found, const std::array<long double, 3>& expected) {
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found.at(i).get<double>(), static_cast<double>(expected[i]), 1e-11);
  }
}

TEST_F(AnalyzeTest, sums_are_those_of_a_plain_loop_for_every_precision_and_order) {
  for (const Precision precision : kPrecisions) {
    for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
      write_snapshot({{500, 700, 300}, precision, order, kHeaderBytes});
      const ReferenceSums expected = compute_reference(particles_);
      const Json found = run_analysis(SourceKind::kForebay, 13);
      EXPECT_NEAR(found.at("mass").get<double>(), static_cast<double>(expected.mass), 1e-9);
      expect_near(found.at("center_of_mass"), expected.center);
      expect_near(found.at("mean_velocity"), expected.velocity);
      expect_near(found.at("velocity_dispersion").at("axes"), expected.dispersion);
    }
  }
}

TEST_F(AnalyzeTest, shells_count_the_particles_inside_them) {
  write_snapshot({{2000, 3000, 1000}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  const Json profile = run_analysis(SourceKind::kForebay, 10).at("profile");
  const auto center = profile.at("center").get<Vector3>();
  const auto count_between = [&](double inner, double outer) {
    return std::ranges::count_if(particles_, [&](const Particle& particle) {
      double square = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        square += std::pow(particle.position[i] - center[i], 2);
      }
      return square >= inner * inner && square < outer * outer;
    });
  };
  std::int64_t sum = profile.at("inside").at("count").get<std::int64_t>() +
                     profile.at("outside").at("count").get<std::int64_t>();
  ASSERT_EQ(profile.at("shells").size(), 50U);
  for (const Json& shell : profile.at("shells")) {
    const double inner = shell.at("inner");
    const double outer = shell.at("outer");
    EXPECT_EQ(shell.at("count").get<std::int64_t>(), count_between(inner, outer));
    const double volume = 4.0 / 3 * 3.14159265358979 * (std::pow(outer, 3) - std::pow(inner, 3));
    const double mass = shell.at("mass");
    EXPECT_NEAR(shell.at("density").get<double>() * volume, mass, 1e-12 * mass);
    sum += shell.at("count").get<std::int64_t>();
  }
  EXPECT_EQ(sum, 6000);
}

TEST_F(AnalyzeTest, sources_and_threads_do_not_change_a_bit) {
  write_snapshot({{4001, 8002, 3003}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  for (const std::uint64_t tasks : {1U, 7U, 1000U, 40000U}) {
    const std::string reference = results_of(run_analysis(SourceKind::kIfstream, tasks, 1));
    for (const unsigned threads : {1U, 3U}) {
      EXPECT_EQ(results_of(run_analysis(SourceKind::kForebay, tasks, threads)), reference) << tasks;
      EXPECT_EQ(results_of(run_analysis(SourceKind::kIfstream, tasks, threads)), reference)
          << tasks;
    }
  }
}

/// Expects equal counts, and numbers equal to 1e-12 of their size.
void expect_close(const Json& a, const Json& b) {
  ASSERT_EQ(a.is_number(), b.is_number());
  if (a.is_structured()) {
    ASSERT_EQ(a.size(), b.size());
    for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j)
      expect_close(*i, *j);
  } else if (a.is_number_float()) {
    const double scale = std::max(1.0, std::abs(a.get<double>()));
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-12 * scale);
  } else {
    EXPECT_EQ(a, b);
  }
}

TEST_F(AnalyzeTest, number_of_tasks_changes_rounding_only) {
  write_snapshot({{4001, 8002, 3003}, Precision::kDouble, ByteOrder::kNative, kShortHeaderBytes});
  const Json one = Json::parse(results_of(run_analysis(SourceKind::kForebay, 1)));
  for (const std::uint64_t tasks : {7U, 1000U, 15006U, 20000U}) {
    expect_close(one, Json::parse(results_of(run_analysis(SourceKind::kForebay, tasks))));
  }
}

TEST_F(AnalyzeTest, families_have_separate_counts_and_masses) {
  write_snapshot({{10, 0, 30}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  const Json families = run_analysis(SourceKind::kForebay, 4).at("families");
  double gas = 0;
  for (std::size_t i = 0; i < 10; ++i)
    gas += particles_[i].mass;
  EXPECT_EQ(families.at("gas").at("count"), 10);
  EXPECT_NEAR(families.at("gas").at("mass").get<double>(), gas, 1e-12);
  EXPECT_EQ(families.at("dark").at("count"), 0);
  EXPECT_EQ(families.at("dark").at("mass"), 0.0);
  EXPECT_EQ(families.at("star").at("count"), 30);
}

TEST_F(AnalyzeTest, document_contains_times_memory_and_session) {
  write_snapshot({{100, 100, 100}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  const Json through = run_analysis(SourceKind::kForebay, 4);
  EXPECT_EQ(through.at("source"), "forebay");
  EXPECT_EQ(through.at("tasks"), 4);
  EXPECT_EQ(through.at("bytes"), 12800);
  const Json& times = through.at("times_s");
  EXPECT_GT(times.at("computing_cpu").get<double>(), 0);
  EXPECT_GE(times.at("first_particle").get<double>(),
            times.at("open").get<double>() + times.at("sample").get<double>());
  EXPECT_GE(times.at("total").get<double>(), times.at("first_particle").get<double>());
  EXPECT_GT(through.at("memory").at("peak_rss_bytes").get<std::uint64_t>(), 0U);
  EXPECT_EQ(through.at("session").at("bytes_served"), 12800);
  EXPECT_TRUE(run_analysis(SourceKind::kIfstream, 4).at("session").is_null());
}

TEST_F(AnalyzeTest, cold_run_computes_the_same) {
  write_snapshot({{100, 100, 100}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  AnalyzeOptions cold = options(SourceKind::kForebay, 4, 2);
  cold.run.cache = PageCacheMode::kDrop;
  const auto document = analyze(cold);
  ASSERT_TRUE(document) << document.error().message();
  EXPECT_EQ(results_of(*document), results_of(run_analysis(SourceKind::kForebay, 4)));
  EXPECT_EQ(document->at("cold"), true);
}

TEST_F(AnalyzeTest, numbers_that_are_not_finite_are_damage) {
  write_snapshot({{100, 0, 0}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  particles_[50].velocity[1] = INFINITY;
  testing::write_file(path(), testing::encode_snapshot(layout_, particles_));
  const auto document = analyze(options(SourceKind::kForebay, 4, 1));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(document.error().path(), path());
}

TEST_F(AnalyzeTest, snapshot_without_mass_is_an_error) {
  write_snapshot({{}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes});
  const auto document = analyze(options(SourceKind::kForebay, 4, 1));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kInvalidArgument);
}

TEST_F(AnalyzeTest, ambiguous_precision_is_an_error) {
  write_snapshot({{10, 10, 10}, Precision::kDoublePositions, ByteOrder::kStandard, kHeaderBytes});
  AnalyzeOptions without_precision = options(SourceKind::kForebay, 4, 1);
  without_precision.run.named_precision = std::nullopt;
  const auto document = analyze(without_precision);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(document.error().message().find("--double-positions"), std::string::npos);
}

}  // namespace
}  // namespace forebay::tipsy
