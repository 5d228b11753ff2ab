// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a computation: steps of a dataset that are visible completely or not at all. They
// are written while the program computes, and read back as after a restart.
#include <forebay/forebay.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include "input_file.hpp"

namespace {

constexpr std::uint64_t kParts = 4;
constexpr std::uint64_t kElements = 100'000;

std::vector<double> values_of(std::uint64_t step, std::uint64_t part) {
  return std::vector<double>(kElements, static_cast<double>(step * 1000 + part));
}

forebay::Status compute_and_checkpoint(forebay::Runtime& runtime, const std::string& path) {
  // A restarted program continues the same dataset, so kAppend.
  auto data = runtime.create_dataset(path, {.existing = forebay::ExistingDataset::kAppend,
                                            .plan = forebay::WritePlan{.retained_steps = 2}});
  if (!data) return failure(data.error());
  std::optional<forebay::Future<forebay::Receipt>> last;
  for (std::uint64_t number = 1; number <= 5; ++number) {
    auto step = data->begin_step(number);
    if (!step) return failure(step.error());
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const std::vector<double> values = values_of(number, part);  // put() copies
      const auto taken = step->put("velocity", forebay::Part{part}, values);
      if (!taken) return taken;
    }
    last.emplace(step->commit());  // returns at once; the Future has the result later
  }
  const auto receipt = last->wait();
  if (!receipt) return failure(receipt.error());
  std::cout << data->plan().reason << "\nstep " << receipt->step << " blocked the program for "
            << receipt->perceived_time.count() / 1000 << " us, and was durable after "
            << receipt->durable_time.count() / 1000 << " us\n";
  return data->close();
}

forebay::Status restart(forebay::Runtime& runtime, const std::string& path) {
  const auto stored = runtime.open_dataset(path);
  if (!stored) return failure(stored.error());
  const auto step = stored->open_step(stored->newest_step().value_or(0));
  if (!step) return failure(step.error());
  for (std::uint64_t part = 0; part < kParts; ++part) {
    std::vector<double> values(kElements);
    const auto read = step->read("velocity", forebay::Part{part}, values).wait();
    if (!read) return failure(read.error());
    if (values != values_of(5, part)) std::abort();
  }
  return {};
}

}  // namespace

int main() {
  const examples::InputFile directory(examples::numbers(0));  // for its directory, which is removed
  const std::string path = directory.path() + ".fb";
  forebay::Runtime runtime;
  auto done = compute_and_checkpoint(runtime, path);
  if (done) done = restart(runtime, path);
  if (!done) std::cerr << done.error().message() << '\n';
  return done ? 0 : 1;
}
