// SPDX-License-Identifier: Apache-2.0
#include "interpose/pmpi/mpi_files.hpp"

#include <cstring>

#include "interpose/posix/recorder.hpp"

namespace forebay::interpose {

namespace {

using trace::FileView;
using trace::TraceOperation;
using trace::TraceRecord;

constexpr std::uint32_t kMpiFiles = 256;
/// Files of POSIX have the other numbers, as reads ahead depend on these.
constexpr std::uint32_t kNumbersMax = 16'384;
constexpr Word kTaken = 1;
constexpr FileView kDefaultView{0, 1, 1, 1};

constinit std::array<MpiFile, kMpiFiles> files{};
constinit std::atomic<std::uint32_t> file_end{0};  // later entries were never taken
constinit std::atomic<std::uint32_t> numbers{0};

constinit MpiFunction abi_version("PMPI_Abi_get_version");
constinit MpiFunction byte_offset("PMPI_File_get_byte_offset");
constinit MpiFunction get_position("PMPI_File_get_position");
constinit MpiFunction status_count("PMPI_Get_count");
constinit MpiFunction type_size("PMPI_Type_size_x");
constinit MpiFunction type_extent("PMPI_Type_get_extent_x");

/// MPI_MODE_SEQUENTIAL: MPICH, Open MPI and those derived from them have one value, the standard
/// ABI of MPI-5 another.
bool is_sequential(int mode) noexcept {
  int major = 0;
  int minor = 0;
  const bool is_abi = abi_version({word_of(&major), word_of(&minor)}) == 0 && major > 0;
  return (mode & (is_abi ? 64 : 256)) != 0;
}

TraceRecord record_of(FileNumber file, TraceOperation operation, std::uint64_t begin) noexcept {
  const std::uint64_t took = now_ns() - begin;
  return {.begin_ns = begin,
          .duration_ns = took < UINT32_MAX ? static_cast<std::uint32_t>(took) : UINT32_MAX,
          .file = file,
          .operation = operation};
}

/// Sets the offset of a record, or the flag of an unknown one.
void set_offset(const MpiFile& file, std::int64_t position, TraceRecord& record) noexcept {
  std::int64_t offset = -1;
  const bool is_known =
      position >= 0 && byte_offset({file.handle.load(std::memory_order_relaxed),
                                    static_cast<Word>(position), word_of(&offset)}) == 0;
  if (is_known && offset >= 0)
    record.offset = static_cast<std::uint64_t>(offset);
  else
    record.flags |= trace::kFlagOffsetUnknown;
}

std::uint64_t size_of(const MpiRead& read) noexcept {
  std::int64_t type_bytes = 0;
  // Without elements, the type may be invalid.
  if (read.count <= 0 || type_size({read.type, word_of(&type_bytes)}) != 0) return 0;
  std::int64_t count = read.count;
  // Undefined, negative, if the last one is incomplete or there are too many.
  int arrived = -1;
  if (read.status != 0 && status_count({read.status, read.type, word_of(&arrived)}) == 0 &&
      arrived >= 0)
    count = arrived;
  std::int64_t size = 0;
  const bool is_valid = !__builtin_mul_overflow(count, type_bytes, &size) && size > 0;
  return is_valid ? static_cast<std::uint64_t>(size) : 0;
}

MpiFile* take_entry() noexcept {
  for (std::uint32_t i = 0; i < kMpiFiles; ++i) {
    Word expected = 0;
    if (!files[i].handle.compare_exchange_strong(expected, kTaken)) continue;
    std::uint32_t end = file_end.load(std::memory_order_relaxed);
    while (end <= i && !file_end.compare_exchange_weak(end, i + 1))
      ;
    return &files[i];
  }
  return nullptr;
}

FileNumber next_number() noexcept {
  return numbers.fetch_add(1, std::memory_order_relaxed) < kNumbersMax ? new_file() : kNoFile;
}

/// Announces the file with its view, under this number from now on.
void begin_number(MpiFile& file, FileNumber number, TraceRecord record) noexcept {
  file.open.file = number;
  announce_file(file.open);
  file.number.store(number, std::memory_order_relaxed);
  record.file = number;
  record.flags = trace::kFlagCollective;
  record_call(record);
}

}  // namespace

MpiFile* find_file(Word handle) noexcept {
  if (handle <= kTaken) return nullptr;
  const std::uint32_t end = file_end.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < end; ++i)
    if (files[i].handle.load(std::memory_order_acquire) == handle) return &files[i];
  return nullptr;
}

std::int64_t position_of(const MpiFile& file) noexcept {
  std::int64_t position = -1;
  if (file.is_sequential ||
      get_position({file.handle.load(std::memory_order_relaxed), word_of(&position)}) != 0)
    return -1;
  return position;
}

void record_open(Word handle, const char* name, int mode, std::uint64_t begin_ns) noexcept {
  const TraceRecord record = record_of(kNoFile, TraceOperation::kOpen, begin_ns);
  trace::RunOpen open{};
  const char* const prefix = std::strchr(name, ':');  // such as "ufs:" of ROMIO
  if (!describe_file(name, open) && (prefix == nullptr || !describe_file(prefix + 1, open))) return;
  if (MpiFile* const old = find_file(handle)) remove_file(*old);
  open.kind = trace::RunOpenKind::kMpiFile;
  open.view = kDefaultView;
  MpiFile* const file = take_entry();
  if (file == nullptr) return announce_file(open);  // without a number: counted as lost
  file->open = open;
  file->is_sequential = is_sequential(mode);
  begin_number(*file, next_number(), record);
  file->handle.store(handle, std::memory_order_release);
}

void record_view(MpiFile& file,
                 std::int64_t displacement,
                 Word etype,
                 Word filetype,
                 std::uint64_t begin_ns) noexcept {
  const TraceRecord record = record_of(kNoFile, TraceOperation::kOpen, begin_ns);
  FileView view{};
  std::int64_t lower_bound = 0;
  if (file.is_sequential || displacement < 0) return;
  view.displacement = static_cast<std::uint64_t>(displacement);
  if (type_size({etype, word_of(&view.etype_bytes)}) != 0 ||
      type_size({filetype, word_of(&view.filetype_bytes)}) != 0 ||
      type_extent({filetype, word_of(&lower_bound), word_of(&view.filetype_extent)}) != 0)
    return;
  const FileNumber number = view != file.open.view ? next_number() : kNoFile;
  if (number == kNoFile) return;
  record_close(file.number, begin_ns);
  file.open.view = view;
  begin_number(file, number, record);
}

void record_seek(const MpiFile& file, std::uint64_t begin_ns) noexcept {
  TraceRecord record = record_of(file.number, TraceOperation::kSeek, begin_ns);
  set_offset(file, position_of(file), record);
  record_call(record);
}

void record_read(const MpiFile& file, const MpiRead& read, std::uint64_t begin_ns) noexcept {
  TraceRecord record = record_of(file.number, TraceOperation::kRead, begin_ns);
  record.size = size_of(read);
  if (record.size == 0) return;
  set_offset(file, file.is_sequential ? -1 : read.position, record);
  if (read.is_collective) record.flags |= trace::kFlagCollective;
  record_call(record);
}

std::uint16_t remove_file(MpiFile& file) noexcept {
  const std::uint16_t number = file.number.load(std::memory_order_relaxed);
  file.handle.store(0, std::memory_order_release);
  return number;
}

void record_close(std::uint16_t number, std::uint64_t begin_ns) noexcept {
  TraceRecord record = record_of(number, TraceOperation::kClose, begin_ns);
  record.flags = trace::kFlagCollective;
  record_call(record);
}

}  // namespace forebay::interpose
