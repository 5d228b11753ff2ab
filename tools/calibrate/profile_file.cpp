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
#include "base/host_name.hpp"
#include "base/retry_on_eintr.hpp"
#include "base/text_file.hpp"
#include "model/profile_text.hpp"
#include "storage/file_system.hpp"
#include "tools/probe/file_system.hpp"

namespace forebay::calibrate {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOperation = "write profile";

tl::unexpected<Error> io_failure(const std::string& path, int error_number) {
  return failure(system_error({.operation = kOperation, .path = path}, error_number));
}

std::optional<dev_t> device_of(const fs::path& directory) {
  struct stat facts{};
  if (::stat(directory.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_dev;
}

/// The path of the file itself, after links.
fs::path resolve_links(const std::string& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::path(path) : real;
}

/// No value if the file does not exist.
Result<std::optional<std::string>> read_if_exists(const std::string& path) {
  auto text = read_text_file(path, "read profile");
  if (text) return std::optional(std::move(*text));
  if (text.error().kind() == ErrorClass::kNotFound) return std::optional<std::string>();
  return failure(text.error());
}

Result<std::string> with_entry(const std::string& path, const model::ProfileMount& mount) {
  const auto old = read_if_exists(path);
  if (!old) return failure(old.error());
  if (!*old) return model::make_profile(mount);
  return model::update_mount({.text = **old, .path = path}, mount, host_name());
}

Status replace(const fs::path& path, std::string_view text) {
  auto file = TemporaryFile::create_beside(path.string());
  if (!file) return failure(file.error());
  while (!text.empty()) {
    const auto put =
        retry_on_eintr([&] { return ::write(file->descriptor(), text.data(), text.size()); });
    if (put < 0) return io_failure(path, errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return file->publish();
}

}  // namespace

Result<fs::path> device_root(const fs::path& directory) {
  std::error_code error;
  fs::path place = fs::canonical(directory, error);
  if (error) {
    return failure(system_error({.operation = "resolve directory", .path = directory.string()},
                                error.value()));
  }
  const auto device = device_of(place);
  while (place.has_relative_path() && device_of(place.parent_path()) == device)
    place = place.parent_path();
  return place;
}

Result<bool> is_shared(const fs::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  switch (storage::file_system_of(opened.get())) {
    case storage::FileSystem::kExt:
    case storage::FileSystem::kXfs:
    case storage::FileSystem::kBtrfs:
    case storage::FileSystem::kTmpfs:
    case storage::FileSystem::kOverlay:
    case storage::FileSystem::kMemory:
      return false;
    default:
      return probe::describe_file_system(directory).map(
          [](const probe::FileSystemInfo& found) { return !found.device.has_value(); });
  }
}

Status ProfileFile::prepare() const {
  const fs::path path = resolve_links(path_);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return io_failure(path.parent_path(), error.value());
  if (const auto tried = TemporaryFile::create_beside(path.string()); !tried)
    return failure(tried.error());
  const auto old = read_if_exists(path);
  if (!old) return failure(old.error());
  if (!*old) return {};
  const auto known = model::parse_profile(**old, path_);
  return known ? Status() : failure(known.error());
}

Status ProfileFile::put(const model::ProfileMount& mount) const {
  const fs::path path = resolve_links(path_);
  const auto text = with_entry(path, mount);
  if (!text) return failure(text.error());
  return replace(path, *text);
}

}  // namespace forebay::calibrate
