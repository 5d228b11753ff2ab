// SPDX-License-Identifier: Apache-2.0
// Any change of names or sizes, and any sync, counts once, from this program or from a library. In
// a separate program, because other tests must call the C library without interposition.
#include "bench/checkpoint/metadata_calls.hpp"

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/testing.hpp"
#include "storage/file.hpp"

namespace forebay::bench::checkpoint {
namespace {

class MetadataCalls : public testing::Test {
 protected:
  /// A call that succeeds; each is counted once, in order.
  struct Call {
    const char* name;
    std::function<int()> make;
  };
  static void expect_counted(const std::vector<Call>& calls) {
    for (const auto& [name, make] : calls) {
      const std::uint64_t before = metadata_calls();
      EXPECT_EQ(make(), 0) << name;
      EXPECT_EQ(metadata_calls(), before + 1) << name;
    }
  }

  const TemporaryDirectory directory_;
  const std::string a_ = directory_ / "a";
  const std::string b_ = directory_ / "b";
};

TEST_F(MetadataCalls, calls_on_names_count) {
  const Descriptor directory(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int at = directory.get();
  const Descriptor file(::open(a_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  expect_counted({
      {"link", [&] { return ::link(a_.c_str(), b_.c_str()); }},
      {"unlink", [&] { return ::unlink(b_.c_str()); }},
      {"linkat", [&] { return ::linkat(at, "a", at, "b", 0); }},
      {"unlinkat", [&] { return ::unlinkat(at, "a", 0); }},
      {"rename", [&] { return std::rename(b_.c_str(), a_.c_str()); }},
      {"renameat", [&] { return ::renameat(at, "a", at, "b"); }},
      {"renameat2", [&] { return ::renameat2(at, "b", at, "a", 0); }},
      {"mkdir", [&] { return ::mkdir(b_.c_str(), 0700); }},
      {"rmdir", [&] { return ::rmdir(b_.c_str()); }},
      {"mkdirat", [&] { return ::mkdirat(at, "b", 0700); }},
      {"remove", [&] { return std::remove(b_.c_str()); }},
  });
}

TEST_F(MetadataCalls, calls_on_sizes_and_syncs_count) {
  const Descriptor opened(::open(a_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const int file = opened.get();
  expect_counted({
      {"fallocate", [&] { return ::fallocate(file, 0, 0, 4096); }},
      {"posix_fallocate", [&] { return ::posix_fallocate(file, 0, 8192); }},
      {"ftruncate", [&] { return ::ftruncate(file, 100); }},
      {"truncate", [&] { return ::truncate(a_.c_str(), 10); }},
      {"fsync", [&] { return ::fsync(file); }},
      {"fdatasync", [&] { return ::fdatasync(file); }},
      {"syncfs", [&] { return ::syncfs(file); }},
  });
}

TEST_F(MetadataCalls, calls_of_libraries_count) {
  const std::uint64_t before = metadata_calls();
  const auto file = storage::open_file(a_, {.intent = storage::Intent::kCreate}).value();
  EXPECT_GT(metadata_calls(), before);
  expect_counted({
      {"allocate", [&] { return file->allocate({0, 4096}) ? 0 : -1; }},
      {"sync", [&] { return file->sync() ? 0 : -1; }},
  });
}

}  // namespace
}  // namespace forebay::bench::checkpoint
