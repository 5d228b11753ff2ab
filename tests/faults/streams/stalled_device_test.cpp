// SPDX-License-Identifier: Apache-2.0
// A device that answers nothing for a while: its stream waits and says so in its report, other
// devices go on, and who does not want to wait cancels.
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "emulated_storage.hpp"
#include "fixtures.hpp"

namespace forebay::faults {
namespace {

using std::chrono::seconds;

/// What must come at once comes within this, however busy the machine is.
constexpr seconds kPatience{60};

class StalledDevice : public StreamsOn<EmulatedStorage> {
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
};

TEST_P(StalledDevice, its_stream_waits_and_another_device_goes_on) {
  const seconds length(GetParam().access == Access::kBuffered ? 10 : 1);
  const TemporaryFolder other_device;
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(*storage / "data"));
  const OutputFile other = must(out.create(other_device / "data"));
  std::optional<EmulatedStorage::Stall> stall(std::in_place, *storage);
  EXPECT_TRUE(works(submit_all(out, file, {0, 2 * kBuffer}, kBuffer)));
  ASSERT_TRUE(storage->has_requests());
  // Two of the four buffers are out; the others go round.
  EXPECT_TRUE(works(submit_all(out, other, {0, 10 * kBuffer}, kBuffer)));
  EXPECT_TRUE(works(other.sync()));
  EXPECT_TRUE(is_pattern(other_device / "data", 10 * kBuffer));
  EXPECT_GT(storage->under_way(), 0U) << "it was not stalled";

  EXPECT_TRUE(works(submit_all(out, file, {2 * kBuffer, 2 * kBuffer}, kBuffer)));
  std::promise<void> begins;
  const std::jthread repair([&, begun = begins.get_future()] {
    begun.wait();
    std::this_thread::sleep_for(length);
    stall.reset();
  });
  begins.set_value();
  EXPECT_TRUE(works(submit_pattern(out, file, {4 * kBuffer, kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(*storage / "data", 5 * kBuffer));
  const StreamReport report = out.report();
  const auto length_s = static_cast<double>(length.count());
  EXPECT_GE(report.elapsed_s, length_s);
  EXPECT_GE(report.write_s * static_cast<double>(report.buffers), length_s);
  // The thread above may count for a while before this one asks for a buffer.
  EXPECT_GT(report.producer_wait_s, length_s / 2);
  EXPECT_EQ(report.bytes, 15 * kBuffer);
  EXPECT_EQ(report.devices.size(), 2U);
}

TEST_P(StalledDevice, cancelling_ends_every_wait_while_it_is_stalled) {
  OutputStream out = make_stream();
  const OutputFile file =
      must(out.create(*storage / "data", {.publication = Publication::kWhenComplete}));
  const EmulatedStorage::Stall stall(*storage);
  EXPECT_TRUE(works(submit_all(out, file, {0, 4 * kBuffer}, kBuffer)));
  ASSERT_TRUE(storage->has_requests());

  const auto class_of = [](const auto& result) { return error_class(result); };
  using Ending = std::future<std::optional<ErrorClass>>;
  const auto apart = [](auto call) { return std::async(std::launch::async, std::move(call)); };
  const std::vector<std::byte> some(10);
  std::vector<Ending> endings;
  endings.push_back(apart([&] { return class_of(out.acquire()); }));
  endings.push_back(apart([&] { return class_of(out.acquire_at(file, 5)); }));
  endings.push_back(apart([&] { return class_of(out.acquire_async().wait()); }));
  endings.push_back(apart([&] { return class_of(out.write(file, 0, some)); }));
  endings.push_back(apart([&] { return class_of(out.drain()); }));
  endings.push_back(apart([&] { return class_of(out.sync()); }));
  endings.push_back(apart([&] { return class_of(file.drain()); }));
  endings.push_back(apart([&] { return class_of(file.publish()); }));
  // None can end by itself, so it does not matter which of them wait already.
  EXPECT_EQ(endings.front().wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  out.cancel();
  for (std::size_t i = 0; i < endings.size(); ++i) {
    ASSERT_EQ(endings[i].wait_for(kPatience), std::future_status::ready) << "call " << i;
    EXPECT_EQ(endings[i].get(), ErrorClass::kCancelled) << "call " << i;
  }
  EXPECT_GT(storage->under_way(), 0U) << "it was not stalled";
}

TEST_P(StalledDevice, after_cancelling_the_runtime_ends_as_soon_as_it_answers) {
  std::optional<OutputStream> out(make_stream());
  std::optional<EmulatedStorage::Stall> stall;
  {
    const OutputFile file =
        must(out->create(*storage / "data", {.publication = Publication::kWhenComplete}));
    stall.emplace(*storage);
    EXPECT_TRUE(works(submit_all(*out, file, {0, 4 * kBuffer}, kBuffer)));
    ASSERT_TRUE(storage->has_requests());
  }
  out->cancel();
  const auto end = std::async(std::launch::async, [&] {
    out.reset();
    runtime.reset();
  });
  // What is at storage has the memory of the stream until it is answered.
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  stall.reset();
  EXPECT_EQ(end.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(std::filesystem::exists(*storage / "data"));
  EXPECT_TRUE(temporaries_of(*storage / "data").empty());
}

INSTANTIATE_TEST_SUITE_P(All, StalledDevice, ::testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace forebay::faults
