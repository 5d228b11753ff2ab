// SPDX-License-Identifier: Apache-2.0
// A program that reads a file of its own in all usual ways, and prints a checksum of each. Built
// dynamically and statically linked, and with sanitizers; it needs libc alone.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr std::size_t kFileBytes = std::size_t{1} << 20;
constexpr std::size_t kReadBytes = 1024;
constexpr off_t kStride = 8192;

std::array<char, kFileBytes> content;
std::array<char, kReadBytes> buffer;

/// Checksum of what is read: FNV-1a.
class Sum {
 public:
  explicit Sum(const char* name) : name_(name) {}
  ~Sum() { std::printf("%s %016llx\n", name_, static_cast<unsigned long long>(value_)); }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  void add(const char* bytes, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; ++i)
      value_ = (value_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ULL;
    value_ += static_cast<std::uint64_t>(size);
  }

 private:
  const char* name_;
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

void read_by_descriptor(const char* path) {
  const int file = ::open(path, O_RDONLY);
  {
    Sum sum("read");
    ssize_t size = 0;
    while ((size = ::read(file, buffer.data(), kReadBytes - 1)) > 0)
      sum.add(buffer.data(), size);
  }
  {
    Sum sum("pread");
    for (off_t at = 0; at < static_cast<off_t>(kFileBytes); at += kStride)
      sum.add(buffer.data(), ::pread(file, buffer.data(), kReadBytes, at));
  }
  Sum sum("readv");
  const int copy = ::dup(file);
  for (off_t at = 100; at < static_cast<off_t>(kFileBytes); at += kStride) {
    ::lseek(file, at, SEEK_SET);
    std::array<iovec, 2> parts{{{buffer.data(), 100}, {buffer.data() + 100, 200}}};
    sum.add(buffer.data(), ::readv(copy, parts.data(), 2));
  }
  ::close(copy);
  ::close(file);
}

void read_by_stream(const char* path) {
  Sum sum("fread");
  std::FILE* const stream = std::fopen(path, "r");
  for (long at = 0; at < static_cast<long>(kFileBytes); at += kStride) {
    std::fseek(stream, at, SEEK_SET);
    const std::size_t size = std::fread(buffer.data(), 1, kReadBytes, stream);
    sum.add(buffer.data(), static_cast<std::ptrdiff_t>(size));
    if (std::fgets(buffer.data(), kReadBytes, stream) != nullptr)
      sum.add(buffer.data(), static_cast<std::ptrdiff_t>(std::strlen(buffer.data())));
  }
  std::fclose(stream);
}

void read_by_mapping(const char* path) {
  Sum sum("mmap");
  const int file = ::open(path, O_RDONLY);
  void* const mapped = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  sum.add(static_cast<const char*>(mapped), kFileBytes);
  ::munmap(mapped, kFileBytes);
}

}  // namespace

int main() {
  const char* const folder = std::getenv("TMPDIR");
  std::array<char, 4096> path;
  std::snprintf(path.data(), path.size(), "%s/forebay-reader-XXXXXX", folder ? folder : "/tmp");
  const int file = ::mkstemp(path.data());
  for (std::size_t i = 0; i < kFileBytes; ++i)
    content[i] = static_cast<char>(i * 31 + (i >> 8U));
  const bool is_written = ::write(file, content.data(), kFileBytes) == kFileBytes;
  ::close(file);
  if (is_written) {
    read_by_descriptor(path.data());
    read_by_stream(path.data());
    read_by_mapping(path.data());
  }
  ::unlink(path.data());
  return is_written ? 0 : 1;
}
