// SPDX-License-Identifier: Apache-2.0
#include "write/dataset_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/directory_entries.hpp"
#include "base/retry_on_eintr.hpp"
#include "format/data_header.hpp"
#include "storage/file_system.hpp"
#include "storage/lustre_layout.hpp"
#include "stream/write_access.hpp"

namespace forebay::write {

namespace {

/// A page at an address that suits direct access.
struct alignas(format::kPageBytes) Page {
  format::HeaderPage bytes;
};

}  // namespace

std::string DatasetDirectory::path_of(const format::DataFileName& name) const {
  return setup_.directory + "/" + to_string(name);
}

/// Names of data files are unique in a dataset. So names of free files are unique, too, on all
/// ranks.
std::string DatasetDirectory::free_path_of(const format::DataFileName& name) const {
  return setup_.directory + "/" + std::string(kFreePrefix) + to_string(name);
}

storage::FileSystem DatasetDirectory::file_system() {
  if (file_system_) return *file_system_;
  const Descriptor directory(retry_on_eintr(
      [&] { return ::open(setup_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  // The call that opens a file reports the error.
  if (!directory) return storage::FileSystem::kOther;
  file_system_ = storage::file_system_of(directory.get());
  return *file_system_;
}

Access DatasetDirectory::usual_access(std::uint64_t expected_bytes) {
  return stream::choose_write_access({.file_system = file_system(),
                                      .is_direct_supported = true,
                                      .expected_bytes = expected_bytes})
      .access;
}

Result<DatasetDirectory::FilePointer> DatasetDirectory::open_with(const std::string& path,
                                                                  storage::Intent intent,
                                                                  Access access) {
  auto file = storage::open_file(path, {.intent = intent, .access = access});
  if (file || access == Access::kBuffered || file.error().kind() != ErrorClass::kUnsupported)
    return file;
  // The file was created before direct access to it was refused.
  if (intent == storage::Intent::kCreateNew) intent = storage::Intent::kCreate;
  return storage::open_file(path, {.intent = intent, .access = Access::kBuffered});
}

/// Renames a free file to this name. A free file of the same group is not used: an old index in it
/// would look like one of this file.
Result<bool> DatasetDirectory::reuse_free_file(const format::DataFileName& name) {
  for (std::size_t i = free_.size(); i-- > 0;) {
    const format::DataFileName kept = free_[i];
    if (kept.group == name.group) continue;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::string path = path_of(name);
    if (std::rename(free_path_of(kept).c_str(), path.c_str()) == 0) return true;
    if (errno != ENOENT) return failure(system_error({.operation = "create", .path = path}, errno));
  }
  return false;
}

void DatasetDirectory::warn_default_striping(const std::string& why) {
  if (setup_.log == nullptr || std::exchange(has_warned_striping_, true)) return;
  setup_.log->write(LogLevel::kWarning, "the data files of " + setup_.directory +
                                            " have the default striping of their file system, not "
                                            "stripe_bytes and stripe_count of the plan: " +
                                            why);
}

/// Logs a warning if a new file does not have the plan's striping.
void DatasetDirectory::check_stripes(const storage::File& file) {
  const auto [bytes, servers] = setup_.stripes;
  if (bytes == 0 && servers == 0) return;
  const auto stripes = storage::stripe_layout_of(file);
  if (!stripes)
    return warn_default_striping(std::string(name_of(file.file_system())) +
                                 " does not report the striping of a file");
  const bool is_as_planned = (bytes == 0 || stripes->stripe_bytes == bytes) &&
                             (servers == 0 || stripes->stripe_count == servers);
  if (is_as_planned) return;
  warn_default_striping("stripes of " + std::to_string(stripes->stripe_bytes) + " bytes on " +
                        std::to_string(stripes->stripe_count) + " servers");
}

/// Creates a file on Lustre, which sets the striping at creation. Null for other file systems, for
/// a plan without striping, and if Lustre refuses it.
Result<DatasetDirectory::FilePointer> DatasetDirectory::create_striped(const std::string& path,
                                                                       Access access) {
  if (setup_.stripes == storage::StripeHint{}) return nullptr;
  if (file_system() != storage::FileSystem::kLustre) return nullptr;
  if (const Status removed = unlink_if_exists(path); !removed) return failure(removed.error());
  const Status made = storage::create_lustre_file(path, setup_.stripes);
  if (made) return open_with(path, storage::Intent::kWrite, access);
  warn_default_striping(made.error().message());
  return nullptr;
}

Result<DatasetDirectory::FilePointer> DatasetDirectory::create_file(const std::string& path,
                                                                    Access access) {
  if (auto striped = create_striped(path, access); !striped || *striped != nullptr) {
    if (striped) check_stripes(**striped);
    return striped;
  }
  auto file = open_with(path, storage::Intent::kCreateNew, access);
  if (!file && file.error().error_number() == EEXIST) {
    if (const Status removed = unlink_if_exists(path); !removed) return failure(removed.error());
    file = open_with(path, storage::Intent::kCreateNew, access);
  }
  if (!file) return file;
  storage::set_stripe_hint(**file, setup_.stripes);
  check_stripes(**file);
  return file;
}

Result<DatasetDirectory::FilePointer> DatasetDirectory::create(const format::DataFileName& name,
                                                               std::uint64_t expected_bytes,
                                                               std::optional<Access> access) {
  const std::string path = path_of(name);
  const auto is_recycled = reuse_free_file(name);
  if (!is_recycled) return failure(is_recycled.error());
  const Access chosen = access ? *access : usual_access(expected_bytes);
  auto file =
      *is_recycled ? open_with(path, storage::Intent::kWrite, chosen) : create_file(path, chosen);
  if (!file) return file;
  if (const Status filled = initialize_file(**file, name, expected_bytes); !filled) {
    static_cast<void>(unlink_if_exists(path));
    return failure(filled.error());
  }
  return file;
}

Status DatasetDirectory::initialize_file(storage::File& file,
                                         const format::DataFileName& name,
                                         std::uint64_t expected_bytes) {
  if (const Status reserved = reserve(file, expected_bytes); !reserved) return reserved;
  extend(file, expected_bytes);
  const auto page = std::make_unique<Page>();
  page->bytes = format::encode_header({.dataset = setup_.dataset, .name = name});
  const auto written = file.write_at(page->bytes, 0);
  return written ? Status() : failure(written.error());
}

/// Extends the file on FUSE, where writes that extend a file wait for each other: those of a step
/// that is larger than expected, and those of a file of unknown size. Best effort.
void DatasetDirectory::extend(storage::File& file, std::uint64_t expected_bytes) {
  if (file.access() != Access::kDirect || file_system() != storage::FileSystem::kFuse) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  // Beyond the limit, a signal would end the program.
  const std::uint64_t length =
      std::min<std::uint64_t>(std::max(kInitialLengthBytes, 2 * expected_bytes), limit.rlim_cur);
  if (length > expected_bytes) std::ignore = file.truncate(length);
}

Status DatasetDirectory::reserve(storage::File& file, std::uint64_t expected_bytes) {
  std::uint64_t requested_bytes = std::max(expected_bytes, format::kPageBytes);
  // The reservation of a file that is created ahead of need must leave as much for steps in flight.
  const std::uint64_t needed = 2 * requested_bytes * std::max(setup_.files, 1U);
  const auto is_too_much = [&] {
    const auto free_bytes = file.free_bytes();
    return free_bytes && *free_bytes < needed;
  };
  if (is_too_much() && !free_.empty()) remove_free_files();
  is_low_on_space_ = is_too_much();
  if (is_low_on_space_) requested_bytes = format::kPageBytes;
  const auto has_no_room = [](const Status& done) {
    return !done && done.error().kind() == ErrorClass::kNoSpace;
  };
  const auto old_bytes = file.size();
  if (!old_bytes) return failure(old_bytes.error());
  // Space that was allocated before it ran out stays with the file, unless the file is truncated.
  const auto allocate = [&](std::uint64_t bytes) -> Status {
    Status done = file.allocate({0, bytes});
    if (has_no_room(done)) std::ignore = file.truncate(*old_bytes);
    return done;
  };
  Status reserved = allocate(requested_bytes);
  if (has_no_room(reserved) && !free_.empty()) {
    remove_free_files();
    reserved = allocate(requested_bytes);
  }
  if (has_no_room(reserved)) {
    is_low_on_space_ = true;
    reserved = allocate(format::kPageBytes);
  }
  if (!reserved && reserved.error().kind() == ErrorClass::kUnsupported) return {};
  return reserved;
}

void DatasetDirectory::remove_free_files() {
  for (const format::DataFileName& name : free_)
    static_cast<void>(unlink_if_exists(free_path_of(name)));
  free_.clear();
}

Result<DatasetDirectory::FilePointer> DatasetDirectory::open(const format::DataFileName& name,
                                                             std::optional<Access> access) {
  auto file = open_with(path_of(name), storage::Intent::kWrite, access ? *access : usual_access(0));
  if (!file) return file;
  const auto page = std::make_unique<Page>();
  const auto read = (*file)->read_at(page->bytes, 0);
  if (!read) return failure(read.error());
  const auto there = std::span(page->bytes).first(*read);
  // Over NFS the name is visible at once, the bytes only after the rank that wrote them has synced.
  // So a header of zeros is accepted.
  if (std::ranges::count(there, std::byte{0}) == std::ssize(there)) return file;
  const auto header = format::decode_header(there, (*file)->path());
  if (!header) return failure(header.error());
  if (*header == format::DataHeader{.dataset = setup_.dataset, .name = name}) return file;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "open",
                  .path = (*file)->path(),
                  .offset_bytes = 0,
                  .cause = "its header is that of " + to_string(header->name) + " of dataset " +
                           format::to_string(header->dataset)});
}

/// If space was too low for the last new file, removes this one, so that the next has its space.
Status DatasetDirectory::recycle(const format::DataFileName& name) {
  if (is_low_on_space_ || bad_files_.contains(name) || free_.size() >= setup_.free_files_max)
    return remove(name);
  const std::string path = path_of(name);
  if (std::rename(path.c_str(), free_path_of(name).c_str()) != 0)
    return failure(system_error({.operation = "recycle", .path = path}, errno));
  free_.push_back(name);
  return {};
}

Status DatasetDirectory::remove(const format::DataFileName& name) {
  bad_files_.erase(name);
  return unlink_if_exists(path_of(name));
}

Status DatasetDirectory::sync() const { return sync_directory(setup_.directory); }

}  // namespace forebay::write
