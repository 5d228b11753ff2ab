// SPDX-License-Identifier: Apache-2.0
// forebay-bench-remap-stage STAGE INPUT SPECIFICATION OUTPUT: converts a profile as a stage of the
// original re-mapper, and prints {"compute_s", "write_s"}. `forebay bench cube` runs it.
#include <fstream>
#include <iterator>
#include <span>

#include <nlohmann/json.hpp>

#include "bench/cube/original.hpp"
#include "tools/probe/messages.hpp"

int main(int count, char** arguments) {
  using namespace forebay;
  const std::span words(arguments + 1, static_cast<std::size_t>(count - 1));
  if (words.size() != 4 || !bench::cube::stages().contains(words[0]))
    return probe::print_usage_error("usage: STAGE INPUT SPECIFICATION OUTPUT");
  std::ifstream file(words[2]);
  const std::string specification{std::istreambuf_iterator<char>(file), {}};
  const bench::cube::Scheme& scheme = bench::cube::stages().at(words[0]);
  const auto times = bench::cube::run_original(scheme, words[1], specification, words[3]);
  if (!times) return probe::print_error(times.error());
  std::puts(
      nlohmann::json{{"compute_s", times->compute_s}, {"write_s", times->write_s}}.dump().c_str());
  return probe::kExitSuccess;
}
