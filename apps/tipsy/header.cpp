// SPDX-License-Identifier: Apache-2.0
#include "tipsy/header.hpp"

#include "tipsy/byte_order.hpp"

namespace forebay::tipsy {

namespace {

constexpr std::size_t kPadOffset = 28;
static_assert(kPadOffset == kShortHeaderBytes);

template <ByteOrder order>
Header decode(std::span<const std::byte> bytes) {
  const std::byte* const at = bytes.data();
  Header header{.time = load<double, order>(at),
                .nbodies = load<std::uint32_t, order>(at + 8),
                .ndim = load<std::int32_t, order>(at + 12),
                .nsph = load<std::uint32_t, order>(at + 16),
                .ndark = load<std::uint32_t, order>(at + 20),
                .nstar = load<std::uint32_t, order>(at + 24),
                .pad = 0};
  if (bytes.size() >= kHeaderBytes) header.pad = load<std::uint32_t, order>(at + kPadOffset);
  return header;
}

template <ByteOrder order>
HeaderBytes encode(const Header& header) {
  HeaderBytes bytes{};
  std::byte* const at = bytes.data();
  store<double, order>(header.time, at);
  store<std::uint32_t, order>(header.nbodies, at + 8);
  store<std::int32_t, order>(header.ndim, at + 12);
  store<std::uint32_t, order>(header.nsph, at + 16);
  store<std::uint32_t, order>(header.ndark, at + 20);
  store<std::uint32_t, order>(header.nstar, at + 24);
  store<std::uint32_t, order>(header.pad, at + kPadOffset);
  return bytes;
}

/// A 32-bit field, with byte `index` of the pad as its high byte.
std::uint64_t with_high_byte(std::uint32_t low, std::uint32_t pad, unsigned index) {
  return std::uint64_t{(pad >> (8 * index)) & 0xffU} << 32U | low;
}

std::uint32_t low_part(std::uint64_t count) { return static_cast<std::uint32_t>(count); }
std::uint32_t high_byte(std::uint64_t count) { return static_cast<std::uint32_t>(count >> 32U); }

}  // namespace

Header decode_header(std::span<const std::byte> bytes, ByteOrder order) {
  return order == ByteOrder::kStandard ? decode<ByteOrder::kStandard>(bytes)
                                       : decode<ByteOrder::kNative>(bytes);
}

HeaderBytes encode_header(const Header& header, ByteOrder order) {
  return order == ByteOrder::kStandard ? encode<ByteOrder::kStandard>(header)
                                       : encode<ByteOrder::kNative>(header);
}

std::optional<ByteOrder> detect_byte_order(std::span<const std::byte> bytes) {
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kStandard}) {
    if (decode_header(bytes, order).ndim == 3) return order;
  }
  return std::nullopt;
}

Header make_header(double time, const Counts& counts) {
  const std::uint64_t total = counts.total();
  return {.time = time,
          .nbodies = low_part(total),
          .ndim = 3,
          .nsph = low_part(counts.gas),
          .ndark = low_part(counts.dark),
          .nstar = low_part(counts.star),
          .pad = high_byte(total) | high_byte(counts.gas) << 8U | high_byte(counts.dark) << 16U |
                 high_byte(counts.star) << 24U};
}

Counts plain_counts(const Header& header) { return {header.nsph, header.ndark, header.nstar}; }

Counts wide_counts(const Header& header) {
  return {with_high_byte(header.nsph, header.pad, 1), with_high_byte(header.ndark, header.pad, 2),
          with_high_byte(header.nstar, header.pad, 3)};
}

std::uint64_t wide_nbodies(const Header& header) {
  return with_high_byte(header.nbodies, header.pad, 0);
}

}  // namespace forebay::tipsy
