// SPDX-License-Identifier: Apache-2.0
// A device that does not answer for a while: its stream waits and reports that time, other devices
// continue, and cancel() ends waits.
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "emulated_storage.hpp"
#include "fixtures.hpp"

namespace forebay::faults {
namespace {

using std::chrono::seconds;

/// Limit for calls that must end at once, also on a busy machine.
constexpr seconds kTimeout{60};

class StalledDevice : public StreamTest<EmulatedStorage> {
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
};

TEST_P(StalledDevice, its_stream_waits_and_other_devices_continue) {
  const seconds length(GetParam().access == Access::kBuffered ? 10 : 1);
  const TemporaryDirectory other_device;
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(*storage / "data"));
  const OutputFile other = must(out.create(other_device / "data"));
  std::optional<EmulatedStorage::Stall> stall(std::in_place, *storage);
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 2 * kBuffer}, kBuffer)));
  ASSERT_TRUE(storage->wait_for_requests());
  // Two of the four buffers are in flight; the other two are reused.
  EXPECT_TRUE(is_ok(submit_all(out, other, {0, 10 * kBuffer}, kBuffer)));
  EXPECT_TRUE(is_ok(other.sync()));
  EXPECT_TRUE(is_pattern(other_device / "data", 10 * kBuffer));
  EXPECT_GT(storage->requests_in_flight(), 0U) << "it was not stalled";

  EXPECT_TRUE(is_ok(submit_all(out, file, {2 * kBuffer, 2 * kBuffer}, kBuffer)));
  std::promise<void> begins;
  const std::jthread repair([&, begun = begins.get_future()] {
    begun.wait();
    std::this_thread::sleep_for(length);
    stall.reset();
  });
  begins.set_value();
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {4 * kBuffer, kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(*storage / "data", 5 * kBuffer));
  const StreamReport report = out.report();
  const auto length_s = static_cast<double>(length.count());
  EXPECT_GE(report.elapsed_s, length_s);
  EXPECT_GE(report.write_s * static_cast<double>(report.buffers), length_s);
  // The repair thread may start its delay before this thread requests a buffer.
  EXPECT_GT(report.producer_wait_s, length_s / 2);
  EXPECT_EQ(report.bytes, 15 * kBuffer);
  EXPECT_EQ(report.devices.size(), 2U);
}

TEST_P(StalledDevice, cancel_ends_every_wait_during_the_stall) {
  OutputStream out = make_stream();
  const OutputFile file =
      must(out.create(*storage / "data", {.visibility = FileVisibility::kOnPublish}));
  const EmulatedStorage::Stall stall(*storage);
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 4 * kBuffer}, kBuffer)));
  ASSERT_TRUE(storage->wait_for_requests());

  const auto class_of = [](const auto& result) { return error_class(result); };
  using Ending = std::future<std::optional<ErrorClass>>;
  const auto run_async = [](auto call) { return std::async(std::launch::async, std::move(call)); };
  const std::vector<std::byte> some(10);
  std::vector<Ending> endings;
  endings.push_back(run_async([&] { return class_of(out.acquire()); }));
  endings.push_back(run_async([&] { return class_of(out.acquire_at(file, 5)); }));
  endings.push_back(run_async([&] { return class_of(out.acquire_async().wait()); }));
  endings.push_back(run_async([&] { return class_of(out.write(file, 0, some)); }));
  endings.push_back(run_async([&] { return class_of(out.drain()); }));
  endings.push_back(run_async([&] { return class_of(out.sync()); }));
  endings.push_back(run_async([&] { return class_of(file.drain()); }));
  endings.push_back(run_async([&] { return class_of(file.publish()); }));
  // No call can end without cancel(), so the number of calls that wait already does not matter.
  EXPECT_EQ(endings.front().wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  out.cancel();
  for (std::size_t i = 0; i < endings.size(); ++i) {
    ASSERT_EQ(endings[i].wait_for(kTimeout), std::future_status::ready) << "call " << i;
    EXPECT_EQ(endings[i].get(), ErrorClass::kCancelled) << "call " << i;
  }
  EXPECT_GT(storage->requests_in_flight(), 0U) << "it was not stalled";
}

TEST_P(StalledDevice, after_cancel_runtime_ends_when_the_device_answers) {
  std::optional<OutputStream> out(make_stream());
  std::optional<EmulatedStorage::Stall> stall;
  {
    const OutputFile file =
        must(out->create(*storage / "data", {.visibility = FileVisibility::kOnPublish}));
    stall.emplace(*storage);
    EXPECT_TRUE(is_ok(submit_all(*out, file, {0, 4 * kBuffer}, kBuffer)));
    ASSERT_TRUE(storage->wait_for_requests());
  }
  out->cancel();
  const auto end = std::async(std::launch::async, [&] {
    out.reset();
    runtime.reset();
  });
  // Requests at storage use the memory of the stream until they are answered.
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  stall.reset();
  EXPECT_EQ(end.wait_for(kTimeout), std::future_status::ready);
  EXPECT_FALSE(std::filesystem::exists(*storage / "data"));
  EXPECT_TRUE(temporary_files_of(*storage / "data").empty());
}

INSTANTIATE_TEST_SUITE_P(All, StalledDevice, ::testing::ValuesIn(stream_configs()), config_name);

}  // namespace
}  // namespace forebay::faults
