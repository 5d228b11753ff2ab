// SPDX-License-Identifier: Apache-2.0
// Files of a file system that describes itself, as emufs does: plans use the description, or state
// that they do not. The attributes are real attributes of a file that reports another file system,
// so no mount is needed.
#include <forebay/runtime.hpp>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "model/transfer_advice.hpp"
#include "runtime/storage_info.hpp"
#include "storage/file_decorator.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using storage::FileSystem;

/// A file that reports to be on FUSE.
class FuseFile final : public storage::FileDecorator {
 public:
  using FileDecorator::FileDecorator;

  FileSystem file_system() const noexcept override { return FileSystem::kFuse; }
  int descriptor() const noexcept override { return inner().descriptor(); }
};

/// Server 0 is near and takes one request at a time; server 1 is far and takes many.
constexpr const char* kUnequalServers = R"(
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

class StorageAttributesTest : public ::testing::Test {
 public:
  void SetUp() override {
    if (!set_attribute("machine", kUnequalServers))
      GTEST_SKIP() << "no extended attributes in the directory of tests";
  }
  bool set_attribute(const std::string& what, const std::string& text) {
    const std::string name = "user.emufs." + what;
    return ::fsetxattr(file.descriptor(), name.c_str(), text.data(), text.size(), 0) == 0;
  }
  /// The facts with this machine in the options.
  ReadFacts facts_with(const std::string& machine) const {
    ReadFacts facts{.extent = {0, 1_GiB}, .total_bytes = 256_MiB};
    const Status added = StorageInfoSource(machine).add_facts(facts, file);
    EXPECT_TRUE(added) << added.error().message();
    return facts;
  }

  storage::TemporaryDirectory directory;
  FuseFile file{
      storage::open_file(directory / "file", {.intent = storage::Intent::kCreate}).value()};
};

TEST_F(StorageAttributesTest, plan_follows_the_server_of_the_file) {
  ASSERT_TRUE(set_attribute("layout", "stripe_bytes=1048576 stripe_count=1 first_server=0"));
  const ReadFacts near = facts_with("");
  ASSERT_TRUE(set_attribute("layout", "stripe_bytes=1048576 stripe_count=1 first_server=1"));
  const ReadFacts far = facts_with("");
  EXPECT_GT(far.queue_depth, 2 * near.queue_depth) << "where each takes 20 ms";
  const auto machine = model::parse_machine(kUnequalServers, "unequal").value();
  const model::Layout layout{.stripe_count = 1, .first_server = 1};
  const auto advice = model::advise_reading(machine, layout, 1_GiB, 64_MiB);
  EXPECT_EQ(far.queue_depth, advice.requests);
  EXPECT_EQ(far.request_bytes, advice.request_bytes);
}

TEST_F(StorageAttributesTest, unknown_server_number_is_planned_nevertheless) {
  ASSERT_TRUE(set_attribute("layout", "stripe_bytes=1048576 stripe_count=7 first_server=65535"));
  EXPECT_EQ(facts_with("").stripe_count, 2U);
}

TEST_F(StorageAttributesTest, description_by_the_file_system_has_precedence_and_is_reported) {
  EXPECT_EQ(facts_with("").storage_reason, "storage described by its file system: unequal");
  EXPECT_EQ(facts_with("nfs").storage_reason,
            "storage described by its file system: unequal, not by the options: nfs");
  EXPECT_TRUE(StorageInfoSource("").has_info(file));
}

TEST_F(StorageAttributesTest, invalid_description_leaves_the_options_and_is_reported) {
  ASSERT_TRUE(set_attribute("machine", std::string(kUnequalServers) + "bandwith = 3\n"));
  const ReadFacts nothing = facts_with("");
  EXPECT_EQ(nothing.queue_depth, 0U);
  EXPECT_NE(nothing.storage_reason.find("the description by its file system is not used: "),
            std::string::npos);
  EXPECT_NE(nothing.storage_reason.find("bandwith"), std::string::npos) << nothing.storage_reason;
  EXPECT_FALSE(StorageInfoSource("").has_info(file));
  const ReadFacts named = facts_with("nfs");
  EXPECT_GT(named.queue_depth, 0U);
  EXPECT_TRUE(
      named.storage_reason.starts_with("storage described by the options: nfs; the description by"))
      << named.storage_reason;
  EXPECT_TRUE(StorageInfoSource("nfs").has_info(file));
}

TEST_F(StorageAttributesTest, no_description_gives_no_reason) {
  ASSERT_EQ(::fremovexattr(file.descriptor(), "user.emufs.machine"), 0);
  EXPECT_EQ(facts_with("").storage_reason, "");
  EXPECT_EQ(facts_with("nfs").storage_reason, "storage described by the options: nfs");
  EXPECT_FALSE(StorageInfoSource("").has_info(file));
}

TEST_F(StorageAttributesTest, output_streams_use_the_description) {
  const auto needs_with = [this](const std::string& machine) {
    return StorageInfoSource(machine).write_needs(storage::storage_object_of(file)).value();
  };
  EXPECT_EQ(needs_with("nfs").reason,
            "storage described by its file system: unequal, not by the options: nfs");
  EXPECT_GT(needs_with("").saturation_bytes, 0U);
  ASSERT_EQ(::fremovexattr(file.descriptor(), "user.emufs.machine"), 0);
  EXPECT_EQ(needs_with("").saturation_bytes, 0U);
  EXPECT_EQ(needs_with("nfs").reason, "storage described by the options: nfs");
}

// Before, directories were opened as files, which failed: every dataset was planned for unknown
// storage.
TEST(DatasetStorage, storage_is_that_of_the_nearest_existing_directory) {
  const storage::TemporaryDirectory directory;
  const auto kind =
      storage::must_open(directory / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (storage::is_remote(kind)) GTEST_SKIP() << "tests write to remote storage";
  write::WriteFacts facts;
  ASSERT_TRUE(StorageInfoSource("").add_facts(facts, directory / "not/there/yet.fb"));
  EXPECT_EQ(facts.storage, kind == storage::FileSystem::kTmpfs ? write::StorageKind::kMemory
                                                               : write::StorageKind::kLocal);
}

TEST(DatasetStorage, machine_of_the_options_is_used) {
  const storage::TemporaryDirectory directory;
  const auto kind =
      storage::must_open(directory / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (kind == storage::FileSystem::kTmpfs) GTEST_SKIP() << "tests write to memory";
  write::WriteFacts facts;
  const auto machine = StorageInfoSource("lustre-small").add_facts(facts, directory / "run.fb");
  ASSERT_TRUE(machine) << machine.error().message();
  ASSERT_NE(facts.machine, nullptr);
  EXPECT_EQ(facts.machine->name, "lustre-small");
  EXPECT_EQ(facts.storage_reason, "storage described by the options: lustre-small");
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

OutputPlan plan_of_stream(const TemporaryDirectory& directory, const std::string& machine) {
  Runtime runtime({.machine = machine, .tuning = {.profile = ""}});
  auto out = runtime.create_output_stream({.buffer_bytes = 16_MiB});
  if (!out) return {.reason = out.error().message()};
  const auto created = out->create(directory / "data");
  return created ? created->plan() : OutputPlan{.reason = created.error().message()};
}

TEST(StreamStorage, machine_of_the_options_is_used) {
  const storage::TemporaryDirectory directory;
  const auto kind =
      storage::must_open(directory / "file", {.intent = storage::Intent::kCreate})->file_system();
  if (kind == storage::FileSystem::kTmpfs) GTEST_SKIP() << "tests write to memory";
  std::ofstream(directory / "far.toml") << kFarServers;
  const OutputPlan usual = plan_of_stream(directory, "");
  const OutputPlan far = plan_of_stream(directory, directory / "far.toml");
  EXPECT_GT(far.in_flight_bytes, 160'000'000U) << far.reason;
  EXPECT_GT(far.in_flight_bytes, usual.in_flight_bytes);
  EXPECT_TRUE(
      far.reason.ends_with("as its servers need; storage described by the options: far-servers"))
      << far.reason;
  if (far.access == Access::kDirect) {
    EXPECT_GT(far.queue_depth, usual.queue_depth);
  }
  EXPECT_EQ(usual.reason.find("storage described"), std::string::npos) << usual.reason;
}

TEST(StreamStorage, missing_machine_is_an_error_of_the_stream) {
  Runtime runtime({.machine = "no-such-machine"});
  const auto out = runtime.create_output_stream();
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message().find("no-such-machine"), std::string::npos);
}

}  // namespace
}  // namespace forebay
