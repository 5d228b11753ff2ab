// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/write_target.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "bench/frame/cpu_affinity.hpp"
#include "bench/frame/word_file.hpp"

namespace forebay::bench::engine {

namespace {

constexpr double kBytesOfMegabyte = 1e6;

/// A server that only forwards bytes at its rate.
model::Machine machine_with_rate(const std::string& name, double mb_per_s) {
  model::Machine machine = emufs::machine_named("local");
  machine.name = name;
  machine.about = "one device of a fixed rate";
  machine.client.page_cache = false;
  machine.client.read_ahead_bytes = 0;
  machine.servers = {{.concurrency = 64, .bandwidth_mb_per_s = mb_per_s}};
  machine.sources["client"] = "Chosen: no cache, so that all written bytes go to the device.";
  machine.sources["servers"] = "Chosen: a rate that this machine can pass on.";
  return machine;
}

}  // namespace

std::string fixed_rate_unavailable_reason() {
  if (std::string why = emufs::mount_unavailable_reason(); !why.empty()) return why;
  return usable_cores().size() < 2 ? "two cores are required, for the program and the devices" : "";
}

WriteTarget WriteTarget::with_fixed_rate(Context& context,
                                         std::uint32_t count,
                                         double bytes_per_s) {
  const double mb_per_s = bytes_per_s / kBytesOfMegabyte;
  WriteTarget target{.name = fmt::format("{:.0f} MB/s", mb_per_s)};
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto machine = machine_with_rate(fmt::format("rate-{:.0f}-{}", mb_per_s, i), mb_per_s);
    auto mounted =
        emufs::EmufsMount::make(context.directory(),
                                {.machine = emufs::write_machine(context.directory(), machine),
                                 .arguments = {"--no-sync"},
                                 .core = usable_cores().back()})
            .value();
    target.directories.push_back(mounted->path());
    target.mounts.push_back(std::move(mounted));
  }
  return target;
}

WriteTarget WriteTarget::local(Context& context, Access access) {
  const std::string how = access == Access::kDirect ? "direct" : "buffered";
  return {.name = "local disk, " + how, .access = access, .directories = {context.directory()}};
}

std::vector<std::string> WriteTarget::files(std::uint64_t bytes_each) const {
  std::vector<std::string> paths;
  for (const std::filesystem::path& directory : directories) {
    const auto path = directory / ("written-" + std::to_string(bytes_each));
    if (!exists(path)) check(write_word_file(path, bytes_each));
    paths.push_back(path.string());
  }
  return paths;
}

}  // namespace forebay::bench::engine
