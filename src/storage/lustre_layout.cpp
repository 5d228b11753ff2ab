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
#include "base/retry_on_eintr.hpp"

namespace forebay::storage {

namespace {

// From lustre_user.h. These numbers never change: they are an ABI.
constexpr std::uint32_t kMagicV1 = 0x0BD10BD0;
constexpr std::uint32_t kStripedPattern = 1;  // LOV_PATTERN_RAID0
constexpr std::uint16_t kAnyFirstServer = 0xffff;
constexpr std::uint16_t kServersMax = 2000;  // LOV_MAX_STRIPE_COUNT
// O_LOV_DELAY_CREATE: two flags whose combination has no meaning for a regular file.
constexpr int kDelayCreateFlags = O_NOCTTY | O_ASYNC;
const unsigned long kSetStripe = _IOW('f', 154, long);  // LL_IOC_LOV_SETSTRIPE

template <class Number>
void put(std::span<std::byte> bytes, std::size_t offset, Number value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

}  // namespace

LustreLayout encode_lustre_layout(const StripeHint& hint) noexcept {
  LustreLayout layout{};
  const std::uint64_t bytes_max = std::numeric_limits<std::uint32_t>::max();
  put(layout, 0, kMagicV1);
  put(layout, 4, kStripedPattern);
  put(layout, 24, static_cast<std::uint32_t>(std::min(hint.stripe_bytes, bytes_max)));
  put(layout, 28,
      static_cast<std::uint16_t>(std::min<std::uint32_t>(hint.stripe_count, kServersMax)));
  put(layout, 30, kAnyFirstServer);
  return layout;
}

Status create_lustre_file(const std::string& path, const StripeHint& hint) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | kDelayCreateFlags;
  const Descriptor file = open_path(path, flags, 0666);
  if (!file) return failure(system_error({.operation = "create", .path = path}, errno));
  LustreLayout layout = encode_lustre_layout(hint);
  if (retry_on_eintr([&] { return ::ioctl(file.get(), kSetStripe, layout.data()); }) == 0)
    return {};
  const int why = errno;
  ::unlink(path.c_str());
  return failure(
      system_error({.operation = "set the stripe layout of a new file", .path = path}, why));
}

}  // namespace forebay::storage
