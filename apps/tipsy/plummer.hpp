// SPDX-License-Identifier: Apache-2.0
// Particles of a Plummer sphere in equilibrium, in units where G, the total mass and the scale
// radius are 1. Every quantity is made of additions, products and square roots, which IEEE 754
// defines to the last bit: the same seed gives the same file on every machine.
#pragma once

#include "command/random.hpp"
#include "tipsy/record.hpp"

namespace forebay::tipsy {

/// What theory says about the infinite sphere.
inline constexpr double kHalfMassRadius = 1.3047660265041068;  ///< 1 / sqrt(2^(2/3) - 1)
inline constexpr double kDispersion = 0.5427009409187007;      ///< sqrt(3 pi / 32), all three axes
inline constexpr double kSofteningLength = 0.015625;

/// Draws one particle of a snapshot of `particle_count` equal masses: a position from the density
/// (1 + r^2)^(-5/2), an isotropic velocity from the distribution function by von Neumann's
/// rejection (Aarseth, Henon and Wielen 1974), and plausible values for the fields of its family.
Particle draw_plummer(command::Random& random, Family family, std::uint64_t particle_count);

}  // namespace forebay::tipsy
