// SPDX-License-Identifier: Apache-2.0
// Particles of a Plummer sphere in equilibrium, in units where G, the total mass and the scale
// radius are 1. All values are computed by additions, products and square roots, whose results IEEE
// 754 defines exactly. So the same seed generates the same file on every machine.
#pragma once

#include "command/random.hpp"
#include "tipsy/record.hpp"

namespace forebay::tipsy {

/// Theoretical values of the infinite sphere.
inline constexpr double kHalfMassRadius = 1.3047660265041068;  ///< 1 / sqrt(2^(2/3) - 1)
inline constexpr double kDispersion = 0.5427009409187007;      ///< sqrt(3 pi / 32), all three axes
inline constexpr double kSofteningLength = 0.015625;

/// Draws one particle of a snapshot of `particle_count` equal masses. The position has the density
/// (1 + r^2)^(-5/2). The isotropic velocity is drawn from the distribution function by von
/// Neumann's rejection (Aarseth, Henon and Wielen 1974). The fields of its family get plausible
/// values.
Particle draw_plummer(command::Random& random, Family family, std::uint64_t particle_count);

}  // namespace forebay::tipsy
