// SPDX-License-Identifier: Apache-2.0
// Files of a file system that describes itself, as emufs does: what it says is followed, and where
// it is not, plans say so. The attributes are real ones of a file that says it lies elsewhere, so
// that no mount is needed.
#include <forebay/runtime.hpp>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "model/reading.hpp"
#include "runtime/known_storage.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using storage::FileSystem;

/// A file that says it lies on FUSE.
class FuseFile final : public storage::File {
 public:
  explicit FuseFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}

  const std::string& path() const noexcept override { return inner_->path(); }
  FileSystem file_system() const noexcept override { return FileSystem::kFuse; }
  Access access() const noexcept override { return inner_->access(); }
  std::size_t alignment_bytes() const noexcept override { return inner_->alignment_bytes(); }
  int descriptor() const noexcept override { return inner_->descriptor(); }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override {
    return inner_->read_at(into, offset_bytes);
  }
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override {
    return inner_->write_at(from, offset_bytes);
  }
  Status sync() override { return inner_->sync(); }
  Status allocate(ByteRange range) override { return inner_->allocate(range); }
  Status truncate(std::uint64_t size_bytes) override { return inner_->truncate(size_bytes); }
  std::optional<double> cached_fraction(ByteRange range) const override {
    return inner_->cached_fraction(range);
  }

 private:
  std::unique_ptr<File> inner_;
};

/// Server 0 is near and takes one request at a time; server 1 is far and takes many.
constexpr const char* kUnequal = R"(
format = 1
name = "unequal"
[layout]
stripe_count = 1
[[servers]]
latency_us = 10
concurrency = 1
bandwidth_mb_per_s = 100
[[servers]]
latency_us = 20000
concurrency = 64
bandwidth_mb_per_s = 1000
)";

class ToldStorageTest : public ::testing::Test {
 public:
  void SetUp() override {
    if (!tell("machine", kUnequal)) GTEST_SKIP() << "no extended attributes where tests write";
  }
  bool tell(const std::string& what, const std::string& text) {
    const std::string name = "user.emufs." + what;
    return ::fsetxattr(file.descriptor(), name.c_str(), text.data(), text.size(), 0) == 0;
  }
  /// What is known with this machine in the options.
  ReadFacts facts_with(const std::string& machine) const {
    ReadFacts facts{.extent = {0, 1_GiB}, .total_bytes = 256_MiB};
    const Status added = KnownStorage(machine).add_to(facts, file);
    EXPECT_TRUE(added) << added.error().message();
    return facts;
  }

  storage::TemporaryFolder folder;
  FuseFile file{storage::open_file(folder / "file", {.intent = storage::Intent::kCreate}).value()};
};

TEST_F(ToldStorageTest, is_planned_by_the_server_that_the_file_lies_on) {
  ASSERT_TRUE(tell("layout", "stripe_bytes=1048576 stripe_count=1 first_server=0"));
  const ReadFacts near = facts_with("");
  ASSERT_TRUE(tell("layout", "stripe_bytes=1048576 stripe_count=1 first_server=1"));
  const ReadFacts far = facts_with("");
  EXPECT_GT(far.requests, 2 * near.requests) << "where each takes 20 ms";
  const auto machine = model::parse_machine(kUnequal, "unequal").value();
  const model::Layout layout{.stripe_count = 1, .first_server = 1};
  const auto advice = model::advise_reading(machine, layout, 1_GiB, 64_MiB);
  EXPECT_EQ(far.requests, advice.requests);
  EXPECT_EQ(far.request_bytes, advice.request_bytes);
}

TEST_F(ToldStorageTest, of_a_server_that_the_machine_has_not_is_planned_all_the_same) {
  ASSERT_TRUE(tell("layout", "stripe_bytes=1048576 stripe_count=7 first_server=65535"));
  EXPECT_EQ(facts_with("").servers, 2U);
}

TEST_F(ToldStorageTest, beats_what_the_options_say_and_tells_so) {
  EXPECT_EQ(facts_with("").storage_reason, "storage as its file system says: unequal");
  EXPECT_EQ(facts_with("nfs").storage_reason,
            "storage as its file system says: unequal, not as the options say: nfs");
  EXPECT_TRUE(KnownStorage("").knows(file));
}

TEST_F(ToldStorageTest, in_words_that_mean_nothing_leaves_the_options_and_is_told) {
  ASSERT_TRUE(tell("machine", std::string(kUnequal) + "bandwith = 3\n"));
  const ReadFacts nothing = facts_with("");
  EXPECT_EQ(nothing.requests, 0U);
  EXPECT_NE(nothing.storage_reason.find("what its file system says of itself is not used: "),
            std::string::npos);
  EXPECT_NE(nothing.storage_reason.find("bandwith"), std::string::npos) << nothing.storage_reason;
  EXPECT_FALSE(KnownStorage("").knows(file));
  const ReadFacts named = facts_with("nfs");
  EXPECT_GT(named.requests, 0U);
  EXPECT_TRUE(named.storage_reason.starts_with("storage as the options say: nfs; what its file"))
      << named.storage_reason;
  EXPECT_TRUE(KnownStorage("nfs").knows(file));
}

TEST_F(ToldStorageTest, is_silent_where_nobody_says_anything) {
  ASSERT_EQ(::fremovexattr(file.descriptor(), "user.emufs.machine"), 0);
  EXPECT_EQ(facts_with("").storage_reason, "");
  EXPECT_EQ(facts_with("nfs").storage_reason, "storage as the options say: nfs");
  EXPECT_FALSE(KnownStorage("").knows(file));
}

TEST_F(ToldStorageTest, is_what_output_streams_follow) {
  const auto needs_with = [this](const std::string& machine) {
    return KnownStorage(machine).needs_of_writing(storage::place_of(file)).value();
  };
  EXPECT_EQ(needs_with("nfs").reason,
            "storage as its file system says: unequal, not as the options say: nfs");
  EXPECT_GT(needs_with("").busy_bytes, 0U);
  ASSERT_EQ(::fremovexattr(file.descriptor(), "user.emufs.machine"), 0);
  EXPECT_EQ(needs_with("").busy_bytes, 0U);
  EXPECT_EQ(needs_with("nfs").reason, "storage as the options say: nfs");
}

// Folders were opened as files, which they are not: every dataset was planned for unknown storage.
TEST(StorageOfDatasets, is_what_the_folder_above_lies_on) {
  const storage::TemporaryFolder folder;
  const auto kind =
      storage::must_open(folder / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (storage::is_remote(kind)) GTEST_SKIP() << "tests write to remote storage";
  write::WriteFacts facts;
  ASSERT_TRUE(KnownStorage("").add_to(facts, folder / "not/there/yet.fb"));
  EXPECT_EQ(facts.storage, kind == storage::FileSystem::kTmpfs ? write::StorageKind::kMemory
                                                               : write::StorageKind::kLocal);
}

TEST(StorageOfDatasets, is_the_machine_of_the_options) {
  const storage::TemporaryFolder folder;
  const auto kind =
      storage::must_open(folder / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (kind == storage::FileSystem::kTmpfs) GTEST_SKIP() << "tests write to memory";
  write::WriteFacts facts;
  const auto machine = KnownStorage("lustre-small").add_to(facts, folder / "run.fb");
  ASSERT_TRUE(machine) << machine.error().message();
  ASSERT_NE(facts.machine, nullptr);
  EXPECT_EQ(facts.machine->name, "lustre-small");
  EXPECT_EQ(facts.storage_reason, "storage as the options say: lustre-small");
}

/// Eight servers that answer after 20 ms take 160 MB in that time.
constexpr const char* kFarServers = R"(
format = 1
name = "far-servers"
[[servers]]
count = 8
latency_us = 20000
concurrency = 64
bandwidth_mb_per_s = 1000
)";

OutputPlan plan_of_stream(const TemporaryFolder& folder, const std::string& machine) {
  Runtime runtime({.machine = machine, .profile = ""});
  auto out = runtime.output_stream({.buffer_bytes = 16_MiB});
  if (!out) return {.reason = out.error().message()};
  const auto created = out->create(folder / "data");
  return created ? created->plan() : OutputPlan{.reason = created.error().message()};
}

TEST(StorageOfStreams, is_the_machine_of_the_options) {
  const storage::TemporaryFolder folder;
  const auto kind =
      storage::must_open(folder / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (kind == storage::FileSystem::kTmpfs) GTEST_SKIP() << "tests write to memory";
  std::ofstream(folder / "far.toml") << kFarServers;
  const OutputPlan usual = plan_of_stream(folder, "");
  const OutputPlan far = plan_of_stream(folder, folder / "far.toml");
  EXPECT_GT(far.in_flight_bytes, 160'000'000U) << far.reason;
  EXPECT_GT(far.in_flight_bytes, usual.in_flight_bytes);
  EXPECT_TRUE(far.reason.ends_with("as its servers need; storage as the options say: far-servers"))
      << far.reason;
  if (far.access == Access::kDirect) {
    EXPECT_GT(far.queue_depth, usual.queue_depth);
  }
  EXPECT_EQ(usual.reason.find("storage as"), std::string::npos) << usual.reason;
}

TEST(StorageOfStreams, is_an_error_of_the_stream_where_the_machine_does_not_exist) {
  Runtime runtime({.machine = "no-such-machine"});
  const auto out = runtime.output_stream();
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message().find("no-such-machine"), std::string::npos);
}

}  // namespace
}  // namespace forebay
