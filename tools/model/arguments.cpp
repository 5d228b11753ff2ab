// SPDX-License-Identifier: Apache-2.0
#include "tools/model/arguments.hpp"

#include <string>

namespace forebay::model_tool {

using command::add_number;
using command::add_real;

void add_gain(CLI::App& app, GainQuery& query) {
  model::Pipeline& pipeline = query.pipeline;
  add_real(app, "--compute-s", pipeline.compute_s, {}, "Seconds of computation for each buffer");
  add_real(app, "--write-s", pipeline.write_s, {}, "Seconds to write a buffer");
  add_number(app, "--count", pipeline.count, {}, "Buffers to write");
  const auto parse_buffers = [&pipeline](const std::string& value) {
    const bool is_unlimited = value == "unlimited";
    pipeline.buffers =
        is_unlimited ? model::kUnlimitedBuffers : command::parse_number("--buffers", value, {});
  };
  command::add_value(app, "--buffers", "N|unlimited", parse_buffers, "Buffers in memory");
  add_number(app, "--devices", pipeline.devices, {}, "Devices that write at the same time");
  add_real(app, "--jitter", query.jitter.write, {}, "Relative deviation of the write time");
  add_real(app, "--compute-jitter", query.jitter.compute, {},
           "Relative deviation of the computation time");
  add_number(app, "--seed", query.jitter.seed, {}, "Seed of the simulated deviations");
  command::add_flag(app, "--curves", query.curves, Curves::kInclude, "Add curves for a figure");
}

}  // namespace forebay::model_tool
