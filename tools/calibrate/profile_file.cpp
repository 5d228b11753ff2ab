// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/profile_file.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/text_file.hpp"
#include "base/uninterrupted.hpp"
#include "model/profile_text.hpp"
#include "storage/file_system.hpp"
#include "tools/probe/file_system.hpp"

namespace forebay::calibrate {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOperation = "write profile";

tl::unexpected<Error> failed(const std::string& path, int error_number) {
  return failure(system_error({.operation = kOperation, .path = path}, error_number));
}

std::optional<dev_t> device_of(const fs::path& folder) {
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_dev;
}

/// Where the bytes of the file are, or will be.
fs::path behind_links(const std::string& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::path(path) : real;
}

/// No value if there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = read_text_file(path, "read profile");
  if (text) return std::optional(std::move(*text));
  if (text.error().kind() == ErrorClass::kNotFound) return std::optional<std::string>();
  return failure(text.error());
}

Result<std::string> with_entry(const std::string& path, const model::ProfileMount& mount) {
  const auto old = read_if_there(path);
  if (!old) return failure(old.error());
  if (!*old) return model::new_profile(mount);
  return model::with_mount({.text = **old, .path = path}, mount, model::name_of_this_host());
}

Status replace(const fs::path& path, std::string_view text) {
  auto file = TemporaryFile::create_beside(path.string());
  if (!file) return failure(file.error());
  while (!text.empty()) {
    const auto put =
        uninterrupted([&] { return ::write(file->descriptor(), text.data(), text.size()); });
    if (put < 0) return failed(path, errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return file->publish();
}

}  // namespace

Result<fs::path> place_of(const fs::path& folder) {
  std::error_code error;
  fs::path place = fs::canonical(folder, error);
  if (error) {
    return failure(
        system_error({.operation = "look at folder", .path = folder.string()}, error.value()));
  }
  const auto device = device_of(place);
  while (place.has_relative_path() && device_of(place.parent_path()) == device)
    place = place.parent_path();
  return place;
}

Result<bool> is_shared(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  switch (storage::file_system_of(opened.get())) {
    case storage::FileSystem::kExt:
    case storage::FileSystem::kXfs:
    case storage::FileSystem::kBtrfs:
    case storage::FileSystem::kTmpfs:
    case storage::FileSystem::kOverlay:
    case storage::FileSystem::kMemory:
      return false;
    default:
      return probe::describe_file_system(folder).map(
          [](const probe::FileSystem& found) { return !found.device.has_value(); });
  }
}

Status ProfileFile::prepare() const {
  const fs::path path = behind_links(path_);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return failed(path.parent_path(), error.value());
  if (const auto tried = TemporaryFile::create_beside(path.string()); !tried)
    return failure(tried.error());
  const auto old = read_if_there(path);
  if (!old) return failure(old.error());
  if (!*old) return {};
  const auto known = model::parse_profile(**old, path_);
  return known ? Status() : failure(known.error());
}

Status ProfileFile::put(const model::ProfileMount& mount) const {
  const fs::path path = behind_links(path_);
  const auto text = with_entry(path, mount);
  if (!text) return failure(text.error());
  return replace(path, *text);
}

}  // namespace forebay::calibrate
