// SPDX-License-Identifier: Apache-2.0
#include "tipsy/record.hpp"

#include "tipsy/byte_order.hpp"

namespace forebay::tipsy {

namespace {

/// Codec for the records of one block; P and V are the types of a coordinate of position and
/// velocity.
template <ByteOrder order, class P, class V>
struct Codec {
  static void decode(std::size_t tail, const std::byte* from, std::span<Particle> particles) {
    for (Particle& particle : particles) {
      particle.mass = read_value<float>(from);
      for (double& x : particle.position)
        x = read_value<P>(from);
      for (double& v : particle.velocity)
        v = read_value<V>(from);
      for (std::size_t i = 0; i < tail; ++i)
        particle.tail[i] = read_value<float>(from);
    }
  }

  static void encode(std::size_t tail, std::byte* to, std::span<const Particle> particles) {
    for (const Particle& particle : particles) {
      write_value(particle.mass, to);
      for (const double x : particle.position)
        write_value(static_cast<P>(x), to);
      for (const double v : particle.velocity)
        write_value(static_cast<V>(v), to);
      for (std::size_t i = 0; i < tail; ++i)
        write_value(particle.tail[i], to);
    }
  }

 private:
  template <class T>
  static T read_value(const std::byte*& from) {
    const T value = load<T, order>(from);
    from += sizeof(T);
    return value;
  }
  template <class T>
  static void write_value(T value, std::byte*& to) {
    store<T, order>(value, to);
    to += sizeof(T);
  }
};

/// Calls `use` with the Codec for a precision.
template <ByteOrder order, class Use>
void dispatch_precision(Precision precision, const Use& use) {
  switch (precision) {
    case Precision::kSingle:
      return use(Codec<order, float, float>{});
    case Precision::kDoublePositions:
      return use(Codec<order, double, float>{});
    case Precision::kDoubleVelocities:
      return use(Codec<order, float, double>{});
    case Precision::kDouble:
      return use(Codec<order, double, double>{});
  }
}

template <class Use>
void dispatch_codec(const RecordFormat& shape, const Use& use) {
  if (shape.order == ByteOrder::kStandard) {
    dispatch_precision<ByteOrder::kStandard>(shape.precision, use);
  } else {
    dispatch_precision<ByteOrder::kNative>(shape.precision, use);
  }
}

}  // namespace

std::span<const std::string_view> tail_names(Family family) noexcept {
  static constexpr std::array<std::string_view, 5> kGas{"rho", "temp", "hsmooth", "metals", "phi"};
  static constexpr std::array<std::string_view, 2> kDark{"eps", "phi"};
  static constexpr std::array<std::string_view, 4> kStar{"metals", "tform", "eps", "phi"};
  static_assert(kGas.size() == tail_count(Family::kGas));
  static_assert(kDark.size() == tail_count(Family::kDark));
  static_assert(kStar.size() == tail_count(Family::kStar));
  switch (family) {
    case Family::kGas:
      return kGas;
    case Family::kDark:
      return kDark;
    case Family::kStar:
      break;
  }
  return kStar;
}

void decode_records(const RecordFormat& shape,
                    std::span<const std::byte> bytes,
                    std::span<Particle> particles) {
  dispatch_codec(
      shape, [&](auto codec) { codec.decode(tail_count(shape.family), bytes.data(), particles); });
}

void encode_records(const RecordFormat& shape,
                    std::span<const Particle> particles,
                    std::span<std::byte> bytes) {
  dispatch_codec(
      shape, [&](auto codec) { codec.encode(tail_count(shape.family), bytes.data(), particles); });
}

}  // namespace forebay::tipsy
