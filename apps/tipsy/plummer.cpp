// SPDX-License-Identifier: Apache-2.0
#include "tipsy/plummer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace forebay::tipsy {

namespace {

using Vector3 = std::array<double, 3>;

double square(double x) { return x * x; }

/// Draws a point of the unit ball. Returns its squared distance from the center, never 0.
double draw_in_ball(command::Random& random, Vector3& point) {
  double distance2 = 0;
  do {
    for (double& x : point)
      x = random.symmetric();
    distance2 = square(point[0]) + square(point[1]) + square(point[2]);
  } while (distance2 >= 1 || distance2 == 0);
  return distance2;
}

/// Draws a direction (Marsaglia 1972), without trigonometry.
Vector3 draw_direction(command::Random& random) {
  double u = 0;
  double v = 0;
  double s = 0;
  do {
    u = random.symmetric();
    v = random.symmetric();
    s = square(u) + square(v);
  } while (s >= 1);
  const double root = 2 * std::sqrt(1 - s);
  return {u * root, v * root, 1 - 2 * s};
}

/// Speed / escape speed: density q^2 (1 - q^2)^(7/2), whose maximum is below 0.1.
double draw_speed(command::Random& random) {
  for (;;) {
    const double q = random.uniform();
    const double rest = 1 - q * q;
    if (0.1 * random.uniform() < q * q * rest * rest * rest * std::sqrt(rest)) return q;
  }
}

/// The fields after the velocity; `w` is (1 + r^2)^(-1/2), also the depth of the potential.
std::array<float, 5> draw_tail(command::Random& random, Family family, double w) {
  const auto phi = static_cast<float>(-w);
  const auto eps = static_cast<float>(kSofteningLength);
  if (family == Family::kDark) return {eps, phi};
  const auto metals = static_cast<float>(0.02 * random.uniform());
  if (family == Family::kStar) {
    return {metals, static_cast<float>(-random.uniform()), eps, phi};  // formed before time 0
  }
  const double rho = 3 / (4 * std::numbers::pi) * square(square(w)) * w;
  // Approximates the distance of neighbors, rho^(-1/3), by square roots.
  const double hsmooth = kSofteningLength / (w * std::sqrt(w));
  return {static_cast<float>(rho), static_cast<float>(1e4 * w), static_cast<float>(hsmooth), metals,
          phi};
}

}  // namespace

Particle draw_plummer(command::Random& random, Family family, std::uint64_t particle_count) {
  // The mass inside r is s^3 with s = r / sqrt(1 + r^2). The volume of a ball grows with s^3 too,
  // so a uniform point of the unit ball gives both direction and s.
  Particle particle;
  const double s2 = draw_in_ball(random, particle.position);
  const double w = std::sqrt(1 - s2);
  for (double& x : particle.position)
    x /= w;

  const double speed = draw_speed(random) * std::sqrt(2 * w);  // escape: v^2 = 2 w
  const Vector3 direction = draw_direction(random);
  std::ranges::transform(direction, particle.velocity.begin(),
                         [speed](double x) { return speed * x; });
  particle.mass = static_cast<float>(1.0 / static_cast<double>(particle_count));
  particle.tail = draw_tail(random, family, w);
  return particle;
}

}  // namespace forebay::tipsy
