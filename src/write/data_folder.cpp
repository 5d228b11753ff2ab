// SPDX-License-Identifier: Apache-2.0
#include "write/data_folder.hpp"

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
#include "base/folder_entries.hpp"
#include "base/uninterrupted.hpp"
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

std::string DataFolder::path_of(const format::DataFileName& name) const {
  return setup_.folder + "/" + text_of(name);
}

/// Names of data files are there once in a dataset, so those of free files are too, whichever rank
/// has them.
std::string DataFolder::free_path_of(const format::DataFileName& name) const {
  return setup_.folder + "/" + std::string(kFreePrefix) + text_of(name);
}

storage::FileSystem DataFolder::file_system() {
  if (file_system_) return *file_system_;
  const Descriptor folder(uninterrupted(
      [&] { return ::open(setup_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  // Whoever opens a file meets the error.
  if (!folder) return storage::FileSystem::kOther;
  file_system_ = storage::file_system_of(folder.get());
  return *file_system_;
}

Access DataFolder::access_for(std::uint64_t expected_bytes) {
  if (setup_.access) return *setup_.access;
  return stream::choose_write_access(
             {.file_system = file_system(), .direct_works = true, .expected_bytes = expected_bytes})
      .access;
}

Result<DataFolder::FilePointer> DataFolder::open_with(const std::string& path,
                                                      storage::Intent intent,
                                                      Access access) {
  auto file = storage::open_file(path, {.intent = intent, .access = access});
  const bool may_be_buffered = access == Access::kDirect && !setup_.access;
  if (file || !may_be_buffered || file.error().kind() != ErrorClass::kUnsupported) return file;
  // It was made before direct access to it was refused.
  if (intent == storage::Intent::kCreateNew) intent = storage::Intent::kCreate;
  return storage::open_file(path, {.intent = intent, .access = Access::kBuffered});
}

/// Gives a file that is kept the name. One of the same group is not taken: an index that is left in
/// it would look like one of this file.
Result<bool> DataFolder::take_free_file(const format::DataFileName& name) {
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

void DataFolder::say_default_stripes(const std::string& why) {
  if (setup_.log == nullptr || std::exchange(has_said_default_stripes_, true)) return;
  setup_.log->write(LogLevel::kWarning, "the data files of " + setup_.folder +
                                            " are cut as their file system does it, not by "
                                            "stripe_bytes and targets of the plan: " +
                                            why);
}

/// Whether a new file is as the plan wishes it.
void DataFolder::check_stripes(const storage::File& file) {
  const auto [bytes, servers] = setup_.stripes;
  if (bytes == 0 && servers == 0) return;
  const auto stripes = storage::stripes_of(file);
  if (!stripes)
    return say_default_stripes(std::string(name_of(file.file_system())) +
                               " says nothing of how a file is cut");
  const bool is_as_wished = (bytes == 0 || stripes->stripe_bytes == bytes) &&
                            (servers == 0 || stripes->server_count == servers);
  if (is_as_wished) return;
  say_default_stripes(std::to_string(stripes->stripe_bytes) + " bytes lie on one of " +
                      std::to_string(stripes->server_count) + " servers");
}

/// On Lustre, whose files are cut when they are made. Null where it does not want to.
Result<DataFolder::FilePointer> DataFolder::make_striped(const std::string& path, Access access) {
  if (setup_.stripes == storage::StripeWish{}) return nullptr;
  if (file_system() != storage::FileSystem::kLustre) return nullptr;
  if (const Status removed = remove_entry(path); !removed) return failure(removed.error());
  const Status made = storage::make_lustre_file(path, setup_.stripes);
  if (made) return open_with(path, storage::Intent::kWrite, access);
  say_default_stripes(made.error().message());
  return nullptr;
}

Result<DataFolder::FilePointer> DataFolder::make(const std::string& path, Access access) {
  if (auto striped = make_striped(path, access); !striped || *striped != nullptr) {
    if (striped) check_stripes(**striped);
    return striped;
  }
  auto file = open_with(path, storage::Intent::kCreateNew, access);
  if (!file && file.error().error_number() == EEXIST) {
    if (const Status removed = remove_entry(path); !removed) return failure(removed.error());
    file = open_with(path, storage::Intent::kCreateNew, access);
  }
  if (!file) return file;
  storage::wish_stripes(**file, setup_.stripes);
  check_stripes(**file);
  return file;
}

Result<DataFolder::FilePointer> DataFolder::create(const format::DataFileName& name,
                                                   std::uint64_t expected_bytes) {
  const std::string path = path_of(name);
  const auto is_recycled = take_free_file(name);
  if (!is_recycled) return failure(is_recycled.error());
  const Access access = access_for(expected_bytes);
  auto file = *is_recycled ? open_with(path, storage::Intent::kWrite, access) : make(path, access);
  if (!file) return file;
  if (const Status filled = fill(**file, name, expected_bytes); !filled) {
    static_cast<void>(remove_entry(path));
    return failure(filled.error());
  }
  return file;
}

Status DataFolder::fill(storage::File& file,
                        const format::DataFileName& name,
                        std::uint64_t expected_bytes) {
  if (const Status reserved = reserve(file, expected_bytes); !reserved) return reserved;
  if (expected_bytes == 0) lengthen(file);
  const auto page = std::make_unique<Page>();
  page->bytes = format::encode_header({.dataset = setup_.dataset, .name = name});
  const auto written = file.write_at(page->bytes, 0);
  return written ? Status() : failure(written.error());
}

/// Best effort. Over FUSE, writes that make a file longer wait for each other.
void DataFolder::lengthen(storage::File& file) {
  if (file.access() != Access::kDirect || file_system() != storage::FileSystem::kFuse) return;
  rlimit limit{};
  // Past the limit, a signal would end the program.
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < kUnknownLengthBytes) return;
  std::ignore = file.truncate(kUnknownLengthBytes);
}

Status DataFolder::reserve(storage::File& file, std::uint64_t expected_bytes) {
  std::uint64_t wanted_bytes = std::max(expected_bytes, format::kPageBytes);
  // A file that is made ahead of need leaves as much for the step that is under way.
  const std::uint64_t needed = 2 * wanted_bytes * std::max(setup_.files, 1U);
  const auto is_too_much = [&] {
    const auto free_bytes = file.free_bytes();
    return free_bytes && *free_bytes < needed;
  };
  if (is_too_much() && !free_.empty()) give_up_free_files();
  lacks_room_ = is_too_much();
  if (lacks_room_) wanted_bytes = format::kPageBytes;
  const auto has_no_room = [](const Status& done) {
    return !done && done.error().kind() == ErrorClass::kNoSpace;
  };
  const auto old_bytes = file.size();
  if (!old_bytes) return failure(old_bytes.error());
  // What was allocated before there was no more stays with the file, unless it is cut.
  const auto allocate = [&](std::uint64_t bytes) -> Status {
    Status done = file.allocate({0, bytes});
    if (has_no_room(done)) std::ignore = file.truncate(*old_bytes);
    return done;
  };
  Status reserved = allocate(wanted_bytes);
  if (has_no_room(reserved) && !free_.empty()) {
    give_up_free_files();
    reserved = allocate(wanted_bytes);
  }
  if (has_no_room(reserved)) {
    lacks_room_ = true;
    reserved = allocate(format::kPageBytes);
  }
  if (!reserved && reserved.error().kind() == ErrorClass::kUnsupported) return {};
  return reserved;
}

void DataFolder::give_up_free_files() {
  for (const format::DataFileName& name : free_)
    static_cast<void>(remove_entry(free_path_of(name)));
  free_.clear();
}

Result<DataFolder::FilePointer> DataFolder::open(const format::DataFileName& name) {
  auto file = open_with(path_of(name), storage::Intent::kWrite, access_for(0));
  if (!file) return file;
  const auto page = std::make_unique<Page>();
  const auto read = (*file)->read_at(page->bytes, 0);
  if (!read) return failure(read.error());
  const auto there = std::span(page->bytes).first(*read);
  // Over NFS the name is there at once, and bytes only when who wrote them has synced.
  if (std::ranges::count(there, std::byte{0}) == std::ssize(there)) return file;
  const auto header = format::decode_header(there, (*file)->path());
  if (!header) return failure(header.error());
  if (*header == format::DataHeader{.dataset = setup_.dataset, .name = name}) return file;
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "open",
                  .path = (*file)->path(),
                  .offset_bytes = 0,
                  .cause = "its header is that of " + text_of(header->name) + " of dataset " +
                           format::text_of(header->dataset)});
}

/// The file that could take this one's room was made before it: what was short then is short now.
Status DataFolder::recycle(const format::DataFileName& name) {
  if (lacks_room_ || distrusted_.contains(name) || free_.size() >= setup_.free_files_max)
    return remove(name);
  const std::string path = path_of(name);
  if (std::rename(path.c_str(), free_path_of(name).c_str()) != 0)
    return failure(system_error({.operation = "recycle", .path = path}, errno));
  free_.push_back(name);
  return {};
}

Status DataFolder::remove(const format::DataFileName& name) {
  distrusted_.erase(name);
  return remove_entry(path_of(name));
}

Status DataFolder::sync() const { return sync_entries(setup_.folder); }

}  // namespace forebay::write
