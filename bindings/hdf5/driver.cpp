// SPDX-License-Identifier: Apache-2.0
// The calls of HDF5, each of which becomes one of a DriverFile.
#include "hdf5/driver.hpp"

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "hdf5/driver_file.hpp"
#include "hdf5/hdf5_library.hpp"

#define FOREBAY_HDF5_ENTRY extern "C" [[gnu::visibility("default")]]

namespace forebay::hdf5 {
namespace {

using Outcome = forebay::Status;

struct OpenFile : FileHead {
  OpenFile(std::unique_ptr<DriverFile> opened, Hdf5Library caller)
      : FileHead{}, file(std::move(opened)), library(std::move(caller)) {}
  std::unique_ptr<DriverFile> file;
  Hdf5Library library;
  Address eoa = 0;  // end of the addresses in use
  bool ignores_missing_locks = false;
};

OpenFile& open_file(FileHead* head) { return *static_cast<OpenFile*>(head); }
const OpenFile& open_file(const FileHead* head) { return *static_cast<const OpenFile*>(head); }

ErrorDetails exception_details(const char* operation, const std::exception& caught) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&caught) != nullptr;
  return {.kind = is_memory ? ErrorClass::kLimit : ErrorClass::kException,
          .operation = operation,
          .cause = caught.what()};
}

// No exception may pass through HDF5, which is C.
template <class Call>
ReturnCode run(const char* operation, const Hdf5Library& library, Call call) noexcept {
  try {
    const Outcome outcome = call();
    if (outcome) return kSucceed;
    library.push_error(operation, outcome.error());
  } catch (const std::exception& caught) {
    library.push_error(operation, Error(exception_details(operation, caught)));
  }
  return kFail;
}

template <class Call>
ReturnCode run(const char* operation, FileHead* head, Call call) noexcept {
  OpenFile& opened = open_file(head);
  return run(operation, opened.library, [&] { return call(*opened.file); });
}

int open_flags(unsigned flags) {
  int result = (flags & kOpenReadWrite) != 0 ? O_RDWR : O_RDONLY;
  if ((flags & kOpenTruncate) != 0) result |= O_TRUNC;
  if ((flags & kOpenCreate) != 0) result |= O_CREAT;
  if ((flags & kOpenExclusive) != 0) result |= O_EXCL;
  return result;
}

// As sec2: HDF5_USE_FILE_LOCKING has precedence over the property of the list.
bool ignores_missing_locks(const Hdf5Library& library, Id access_list) {
  const char* text = std::getenv("HDF5_USE_FILE_LOCKING");
  if (text != nullptr) return std::string_view(text) == "BEST_EFFORT";
  bool is_used = true;
  bool is_ignored = false;
  auto* get = library.function<ReturnCode(Id, bool*, bool*)>("H5Pget_file_locking");
  return get != nullptr && get(access_list, &is_used, &is_ignored) >= 0 && is_ignored;
}

FileHead* open(const char* name, unsigned flags, Id access_list, Address) {
  const Hdf5Library library(__builtin_return_address(0));
  OpenFile* result = nullptr;
  static_cast<void>(run("open", library, [&]() -> Outcome {
    const auto options = parse_driver_options(library.driver_configuration(access_list));
    if (!options) return failure(options.error());
    const bool is_coherent = (flags & (kOpenSwmrRead | kOpenSwmrWrite)) != 0;
    auto file = DriverFile::open({name, open_flags(flags), is_coherent}, *options);
    if (!file) return failure(file.error());
    result = new OpenFile(std::move(*file), library);
    result->ignores_missing_locks = ignores_missing_locks(library, access_list);
    return {};
  }));
  return result;
}

ReturnCode close(FileHead* head) {
  const std::unique_ptr<OpenFile> opened(&open_file(head));
  return run("close", head, [](DriverFile& file) { return file.close(); });
}

int compare(const FileHead* left, const FileHead* right) {
  const struct stat& one = open_file(left).file->identity();
  const struct stat& other = open_file(right).file->identity();
  if (one.st_dev != other.st_dev) return one.st_dev < other.st_dev ? -1 : 1;
  if (one.st_ino != other.st_ino) return one.st_ino < other.st_ino ? -1 : 1;
  return 0;
}

ReturnCode query(const FileHead*, unsigned long* features) {
  if (features != nullptr) *features = kFeatures;
  return kSucceed;
}

Address get_eoa(const FileHead* head, MemoryType) { return open_file(head).eoa; }

ReturnCode set_eoa(FileHead* head, MemoryType, Address address) {
  open_file(head).eoa = address;
  return kSucceed;
}

Address get_eof(const FileHead* head, MemoryType) { return open_file(head).file->end(); }

ReturnCode get_handle(FileHead* head, Id, void** handle) {
  return run("get handle", head, [&](DriverFile& file) -> Outcome {
    const Result<int*> descriptor = file.share_descriptor();
    if (!descriptor) return failure(descriptor.error());
    *handle = *descriptor;
    return {};
  });
}

Outcome check_range(Address address, std::size_t size) {
  if (address <= kMaxAddress && size <= kMaxAddress - address) return {};
  return failure({.kind = ErrorClass::kOutOfRange,
                  .offset_bytes = address,
                  .cause = "the range ends beyond 2^63 bytes; the file is damaged"});
}

// NOLINTBEGIN(readability-function-size): HDF5 chooses the parameters
ReturnCode read(FileHead* head, MemoryType, Id, Address address, std::size_t size, void* buffer) {
  return run("read", head, [&](DriverFile& file) {
    return check_range(address, size).and_then([&] {
      return file.read(address, {static_cast<std::byte*>(buffer), size});
    });
  });
}

ReturnCode write(
    FileHead* head, MemoryType, Id, Address address, std::size_t size, const void* buffer) {
  return run("write", head, [&](DriverFile& file) {
    return check_range(address, size).and_then([&] {
      return file.write(address, {static_cast<const std::byte*>(buffer), size});
    });
  });
}
// NOLINTEND(readability-function-size)

ReturnCode flush(FileHead* head, Id, Boolean) {
  return run("flush", head, [](DriverFile& file) { return file.flush(); });
}

ReturnCode truncate(FileHead* head, Id, Boolean) {
  const Address eoa = open_file(head).eoa;
  return run("truncate", head, [&](DriverFile& file) { return file.truncate(eoa); });
}

// True if the file system has no locks and the program runs without.
bool is_ignored(const OpenFile& opened, const Outcome& outcome) {
  return !outcome && outcome.error().error_number() == ENOSYS && opened.ignores_missing_locks;
}

ReturnCode lock(FileHead* head, Boolean is_exclusive) {
  return run("lock", head, [&](DriverFile& file) {
    const Outcome locked = file.lock(is_exclusive ? LockKind::kExclusive : LockKind::kShared);
    return is_ignored(open_file(head), locked) ? Outcome() : locked;
  });
}

ReturnCode unlock(FileHead* head) {
  return run("unlock", head, [&](DriverFile& file) {
    const Outcome unlocked = file.unlock();
    return is_ignored(open_file(head), unlocked) ? Outcome() : unlocked;
  });
}

ReturnCode remove(const char* name, Id) {
  const Hdf5Library library(__builtin_return_address(0));
  return run("remove", library, [&]() -> Outcome {
    if (::unlink(name) == 0) return {};
    return failure(system_error({.operation = "remove", .path = name}, errno));
  });
}

ReturnCode terminate() {
  DriverFile::release_runtime();
  return kSucceed;
}

constexpr CommonCalls kCommon{.name = kDriverName,
                              .maximum_address = kMaxAddress,
                              .close_degree = 1,  // H5F_CLOSE_WEAK, as sec2
                              .terminate = terminate,
                              .superblock_calls = {},
                              .access_list_bytes = 0,
                              .access_list_calls = {},
                              .transfer_list_bytes = 0,
                              .transfer_list_calls = {},
                              .open = open,
                              .close = close,
                              .compare = compare,
                              .query = query,
                              .get_type_map = nullptr,
                              .allocate = nullptr,
                              .free = nullptr,
                              .get_eoa = get_eoa,
                              .set_eoa = set_eoa,
                              .get_eof = get_eof,
                              .get_handle = get_handle,
                              .read = read,
                              .write = write};
constexpr EndCalls kEnd{.flush = flush, .truncate = truncate, .lock = lock, .unlock = unlock};

constexpr Class110 kClass110{.common = kCommon, .end = kEnd, .free_lists = {}};
constexpr Class114 kClass114{.version = kClassVersion,
                             .value = kDriverValue,
                             .common = kCommon,
                             .vector_calls = {},
                             .end = kEnd,
                             .remove = remove,
                             .control = nullptr,
                             .free_lists = {}};

}  // namespace

const void* driver_class(unsigned major, unsigned minor) noexcept {
  if (major == 1 && (minor == 10 || minor == 12)) return &kClass110;
  return major > 1 || minor >= 14 ? &kClass114 : nullptr;
}

}  // namespace forebay::hdf5

// By these functions, HDF5 1.14 and later recognize a plugin.
// NOLINTBEGIN(readability-identifier-naming)
FOREBAY_HDF5_ENTRY int H5PLget_plugin_type() { return forebay::hdf5::kDriverPlugin; }
FOREBAY_HDF5_ENTRY const void* H5PLget_plugin_info() { return forebay::hdf5::driver_class(2, 0); }
// NOLINTEND(readability-identifier-naming)
