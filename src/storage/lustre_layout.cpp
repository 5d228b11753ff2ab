// SPDX-License-Identifier: Apache-2.0
#include "storage/lustre_layout.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"

namespace forebay::storage {

namespace {

// Of lustre_user.h, whose numbers never change: programs are linked to them.
constexpr std::uint32_t kMagicV1 = 0x0BD10BD0;
constexpr std::uint32_t kStripedPattern = 1;  // LOV_PATTERN_RAID0
constexpr std::uint16_t kAnyFirstServer = 0xffff;
constexpr std::uint16_t kServersMax = 2000;  // LOV_MAX_STRIPE_COUNT
// O_LOV_DELAY_CREATE: two flags that mean nothing together for a regular file.
constexpr int kWithoutObjects = O_NOCTTY | O_ASYNC;
const unsigned long kSetStripe = _IOW('f', 154, long);  // LL_IOC_LOV_SETSTRIPE

template <class Number>
void put(std::span<std::byte> bytes, std::size_t offset, Number value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

}  // namespace

LustreLayout encode_lustre_layout(const StripeWish& wish) noexcept {
  LustreLayout layout{};
  const std::uint64_t bytes_max = std::numeric_limits<std::uint32_t>::max();
  put(layout, 0, kMagicV1);
  put(layout, 4, kStripedPattern);
  put(layout, 24, static_cast<std::uint32_t>(std::min(wish.stripe_bytes, bytes_max)));
  put(layout, 28,
      static_cast<std::uint16_t>(std::min<std::uint32_t>(wish.server_count, kServersMax)));
  put(layout, 30, kAnyFirstServer);
  return layout;
}

Status make_lustre_file(const std::string& path, const StripeWish& wish) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | kWithoutObjects;
  const Descriptor file = open_path(path, flags, 0666);
  if (!file) return failure(system_error({.operation = "create", .path = path}, errno));
  LustreLayout layout = encode_lustre_layout(wish);
  if (uninterrupted([&] { return ::ioctl(file.get(), kSetStripe, layout.data()); }) == 0) return {};
  const int why = errno;
  ::unlink(path.c_str());
  return failure(system_error({.operation = "cut a new file over servers", .path = path}, why));
}

}  // namespace forebay::storage
