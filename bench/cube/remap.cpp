// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/remap.hpp"

#include <filesystem>

namespace forebay::bench::cube {

namespace fs = std::filesystem;
using nlohmann::json;

Result<SubprocessRun> run_remap(const RemapPaths& task, unsigned threads) {
  // The program is in the directory of this one.
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "forebay-cube";
  std::vector<std::string> words{program.string(), "remap",  task.input,        "--output",
                                 task.output,      "--spec", task.specification};
  if (threads != 0) words.insert(words.end(), {"--threads", std::to_string(threads)});
  return run_program_in_subprocess(words);
}

json remap_times(const SubprocessRun& run) {
  const json document = json::parse(run.output, nullptr, false);
  if (!document.is_object() || !document.contains("stream")) return nullptr;
  const json& stream = document.at("stream");
  const double threads = document.at("threads").get<double>();
  const double compute_s = stream.at("compute_s").get<double>() *  // per buffer
                           stream.at("buffers").get<double>();
  // Of the whole run: opening and planning cannot overlap with anything; publishing is not modeled.
  const double model_s =
      document.at("planning_s").get<double>() + stream.at("model_s").get<double>();
  return {{"compute_s", compute_s / threads},
          {"write_s", stream.at("producer_wait_s").get<double>() / threads},
          {"efficiency", model_s / document.at("seconds").get<double>()}};
}

}  // namespace forebay::bench::cube
