// SPDX-License-Identifier: Apache-2.0
#include "base/no_space.hpp"

#include <cerrno>

#include <sys/statvfs.h>

namespace forebay {

namespace {

std::uint64_t free_bytes_in(const struct statvfs& facts) noexcept {
  return std::uint64_t{facts.f_bavail} * facts.f_frsize;
}

}  // namespace

std::optional<std::uint64_t> free_bytes_of(int descriptor) noexcept {
  struct statvfs facts{};
  if (::fstatvfs(descriptor, &facts) != 0) return std::nullopt;
  return free_bytes_in(facts);
}

std::optional<std::uint64_t> free_bytes_of(const std::string& path) noexcept {
  struct statvfs facts{};
  if (::statvfs(path.c_str(), &facts) != 0) return std::nullopt;
  return free_bytes_in(facts);
}

std::string no_space_cause(std::optional<std::uint64_t> free_bytes,
                           std::uint64_t requested_bytes,
                           int error_number) {
  if (error_number != ENOSPC && error_number != EDQUOT) return {};
  std::string cause = std::to_string(requested_bytes) + " bytes are requested";
  if (error_number == ENOSPC && free_bytes)
    cause += ", the file system has " + std::to_string(*free_bytes) + " free";
  return cause + "; free some, or write elsewhere";
}

Error with_free_space(const Error& error, std::uint64_t requested_bytes) {
  const std::string note =
      no_space_cause(free_bytes_of(error.path()), requested_bytes, error.error_number());
  return note.empty() ? error : with_note(error, note);
}

}  // namespace forebay
