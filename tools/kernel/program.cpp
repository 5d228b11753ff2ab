// SPDX-License-Identifier: Apache-2.0
// The program forebay-kernel: what a kernel draws, and its stand-alone C program. `forebay kernel`
// calls it. The kernel is the document of KernelPlan.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "command/cli.hpp"
#include "tools/kernel/emit.hpp"
#include "tools/kernel/kernel_plan.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::kernel {
namespace {

using nlohmann::json;

struct Request {
  std::string kernel;
  std::string directory;
  std::vector<std::string> backends;
  std::uint64_t sizes_max = 100'000;
};

struct CallsDeleter {
  void operator()(fk_calls* calls) const {
    fk_free_calls(calls);
    delete calls;
  }
};

/// The size of an array; 0 if it cannot be planned.
std::uint64_t array_bytes(const fk_kernel& kernel, std::uint32_t write, std::int64_t step) {
  std::vector<std::uint64_t> starts(std::size_t{kernel.writers} + 1);
  return fk_layout(&kernel, write, step, starts.data()) == 0 ? starts.back() : 0;
}

/// Makes the calls of all ranks in one step, one after the other: `next` makes those of a rank. A
/// read with size or offsets has an array; before that is written it has no calls.
class CallsOfStep {
 public:
  CallsOfStep(const fk_kernel& kernel, std::uint32_t number, std::int64_t step)
      : kernel_(kernel), number_(number), step_(step) {
    const fk_operation& operation = kernel.operations[number];
    if (operation.what != FK_READ || (operation.has_size == 0 && operation.node_count == 0)) return;
    source_ = fk_step_of_data(&kernel, number, step);
    bytes_ = source_ < -1 ? 0 : array_bytes(kernel, operation.from, source_);
    reads_array_ = true;
  }

  int next(std::uint32_t rank, fk_calls& calls) const {
    if (!reads_array_) return fk_make_calls(&kernel_, number_, rank, step_, &calls);
    if (source_ >= -1) return fk_make_read_calls(&kernel_, number_, rank, step_, bytes_, &calls);
    calls.count = calls.bytes = calls.end = 0;
    return 0;
  }

 private:
  const fk_kernel& kernel_;
  std::uint32_t number_;
  std::int64_t step_;
  std::int64_t source_ = -2;
  std::uint64_t bytes_ = 0;
  bool reads_array_ = false;
};

/// The draws of one operation: bytes and calls [step][rank], and sizes of calls in this order.
Result<json> describe_operation(const fk_kernel& kernel,
                                std::uint32_t number,
                                std::uint64_t sizes_max) {
  const fk_operation& operation = kernel.operations[number];
  const std::unique_ptr<fk_calls, CallsDeleter> calls(new fk_calls{});
  json bytes = json::array();
  json counts = json::array();
  json sizes = json::array();
  for (std::int64_t step = -1; step < kernel.steps; ++step) {
    if (fk_is_due(&kernel, &operation, step) == 0) continue;
    const CallsOfStep of_step(kernel, number, step);
    json step_bytes = json::array();
    json step_calls = json::array();
    for (std::uint32_t rank = 0; rank < kernel.writers; ++rank) {
      if (of_step.next(rank, *calls) != 0)
        return failure(
            {.kind = ErrorClass::kLimit,
             .operation = "draw the calls of",
             .path = operation.name,
             .cause =
                 "rank " + std::to_string(rank) + " in step " + std::to_string(step) +
                 " exceeds the array, or a limit of docs/formats/kernel.md, or memory is short"});
      step_bytes.push_back(calls->bytes);
      step_calls.push_back(calls->count);
      for (std::size_t i = 0; i < calls->count && sizes.size() < sizes_max; ++i)
        sizes.push_back(calls->calls[i].bytes);
    }
    bytes.push_back(std::move(step_bytes));
    counts.push_back(std::move(step_calls));
  }
  return json{{"name", operation.name},
              {"bytes", std::move(bytes)},
              {"calls", std::move(counts)},
              {"sizes", std::move(sizes)}};
}

Result<json> draw(const Request& request) {
  const auto plan = KernelPlan::read(request.kernel);
  if (!plan) return failure(plan.error());
  json operations = json::array();
  for (std::uint32_t i = 0; i < plan->kernel().operation_count; ++i) {
    auto described = describe_operation(plan->kernel(), i, request.sizes_max);
    if (!described) return failure(described.error());
    operations.push_back(std::move(*described));
  }
  json seconds = json::array();
  for (std::uint32_t step = 0; step <= plan->kernel().steps; ++step)
    seconds.push_back(fk_compute_seconds(&plan->kernel(), 0, step));
  return json{{"operations", std::move(operations)}, {"compute_s", std::move(seconds)}};
}

command::Run declare_draw(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  command::add_path(app, "kernel", request->kernel, "The kernel, a JSON document")->required();
  command::add_number(app, "--sizes-max", request->sizes_max, {0, UINT64_MAX},
                      "Sizes of calls to print for each operation");
  return [request] {
    return command::CommandResult{.exit_code = probe::print_document(draw(*request))};
  };
}

Result<json> emit_program(const Request& request) {
  const auto plan = KernelPlan::read(request.kernel);
  if (!plan) return failure(plan.error());
  return emit(plan->kernel(), request.backends, request.directory);
}

command::Run declare_emit(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  command::add_path(app, "kernel", request->kernel, "The kernel, a JSON document")->required();
  command::add_text(app, "--dir", "PATH", request->directory, "Existing directory")->required();
  command::add_values(
      app, "--backend", "NAME", [request](const auto& names) { request->backends = names; },
      "Backend of the program; may be repeated");
  return [request] {
    return command::CommandResult{.exit_code = probe::print_document(emit_program(*request))};
  };
}

const std::array kCommands{
    command::Command{"draw", "Print bytes and calls of each operation, step and rank.",
                     declare_draw},
    command::Command{"emit", "Write the kernel as data of a C program.", declare_emit}};

command::CommandResult run(command::Words words) {
  CLI::App app("Draw kernels; print one JSON document.", "forebay-kernel");
  return command::run(app, words, kCommands);
}

}  // namespace

int run_program(int count, char** words) { return command::run_and_print(count, words, run); }

}  // namespace forebay::kernel
