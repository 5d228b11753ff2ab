// SPDX-License-Identifier: Apache-2.0
// Tests of records, and of the example in docs/formats/tipsy.md, which is read from that page.
#include "tipsy/record.hpp"

#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "tipsy/snapshot.hpp"

namespace forebay::tipsy {
namespace {

/// The bytes of the ```hex block in docs/formats/tipsy.md.
std::vector<std::byte> documented_example() {
  std::ifstream page(FOREBAY_SOURCE_DIR "/docs/formats/tipsy.md");
  std::string line;
  while (std::getline(page, line) && line != "```hex") {
  }
  std::vector<std::byte> bytes;
  while (std::getline(page, line) && line != "```") {
    std::istringstream words(line.substr(8));
    for (unsigned value = 0; words >> std::hex >> value;)
      bytes.push_back(std::byte(value));
  }
  return bytes;
}

TEST(Record, documented_example_decodes_as_documented) {
  const std::vector<std::byte> file = documented_example();
  ASSERT_EQ(file.size(), 116U);
  const auto snapshot = identify_snapshot(
      {"example", file.size(), std::span(file).first(kHeaderBytes)}, std::nullopt);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->header,
            (Header{.time = 0.25, .nbodies = 2, .ndim = 3, .nsph = 1, .ndark = 1}));
  EXPECT_EQ(snapshot->order, ByteOrder::kStandard);
  EXPECT_EQ(snapshot->candidates, std::vector{Precision::kSingle});

  std::array<Particle, 2> read{};
  const auto records = std::span(file).subspan(32);
  decode_records({Family::kGas, Precision::kSingle, snapshot->order}, records,
                 std::span(read).first(1));
  decode_records({Family::kDark, Precision::kSingle, snapshot->order}, records.subspan(48),
                 std::span(read).last(1));
  const Particle gas{{1, -2, 3}, {0.125, 0, -0.125}, 0.5F, {10, 20000, 0.0625F, 0.02F, -1.5F}};
  const Particle dark{{-1, 2, -3}, {-0.125, 0, 0.125}, 0.5F, {0.015625F, -1.5F}};
  EXPECT_EQ(read[0], gas);
  EXPECT_EQ(read[1], dark);
  EXPECT_EQ(phi_of(gas, Family::kGas), -1.5F);
  EXPECT_EQ(phi_of(dark, Family::kDark), -1.5F);
}

/// Random bits of numbers. A NaN could change on its way through double.
std::vector<std::byte> random_records(const RecordFormat& shape,
                                      std::size_t count,
                                      std::mt19937_64& random) {
  std::uniform_real_distribution<float> value(-1e6F, 1e6F);
  std::vector<Particle> particles(count);
  for (Particle& particle : particles) {
    for (double& x : particle.position)
      x = double{value(random)} + 1e-12 * double{value(random)};
    for (double& v : particle.velocity)
      v = double{value(random)} + 1e-12 * double{value(random)};
    particle.mass = value(random);
    for (float& field : particle.tail)
      field = value(random);
  }
  std::vector<std::byte> bytes(count * shape.size_bytes());
  encode_records(shape, particles, bytes);
  return bytes;
}

TEST(Record, every_family_precision_and_order_restores_equal_bytes) {
  std::mt19937_64 random(7);
  for (const Family family : kFamilies) {
    for (const Precision precision : kPrecisions) {
      for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
        const RecordFormat shape{family, precision, order};
        const std::vector<std::byte> bytes = random_records(shape, 33, random);
        std::vector<Particle> particles(33);
        decode_records(shape, bytes, particles);
        std::vector<std::byte> again(bytes.size());
        encode_records(shape, particles, again);
        EXPECT_EQ(bytes, again) << name_of(family) << ' ' << name_of(precision);
      }
    }
  }
}

TEST(Record, widths_and_byte_orders_affect_only_their_fields) {
  const Particle particle{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}, 0.7F, {1, 2, 3, 4, 5}};
  const auto restored = [&](Precision precision, ByteOrder order) {
    const RecordFormat shape{Family::kGas, precision, order};
    std::array<std::byte, kRecordBytesMax> bytes{};
    Particle read;
    encode_records(shape, {&particle, 1}, bytes);
    decode_records(shape, bytes, {&read, 1});
    return read;
  };
  EXPECT_EQ(restored(Precision::kDouble, ByteOrder::kStandard), particle);
  EXPECT_EQ(restored(Precision::kDouble, ByteOrder::kNative), particle);
  const Particle positions = restored(Precision::kDoublePositions, ByteOrder::kStandard);
  EXPECT_EQ(positions.position, particle.position);
  EXPECT_EQ(positions.velocity[0], double{0.4F});
  const Particle velocities = restored(Precision::kDoubleVelocities, ByteOrder::kNative);
  EXPECT_EQ(velocities.velocity, particle.velocity);
  EXPECT_EQ(velocities.position[1], double{0.2F});
}

TEST(Record, tail_ends_with_phi_in_every_family) {
  for (const Family family : kFamilies) {
    ASSERT_EQ(tail_names(family).size(), tail_count(family));
    EXPECT_EQ(tail_names(family).back(), "phi");
  }
}

}  // namespace
}  // namespace forebay::tipsy
