// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/write_target.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/frame/cpu_affinity.hpp"
#include "storage/file.hpp"

namespace forebay::bench::engine {

namespace fs = std::filesystem;

namespace {

/// A server that only forwards bytes at its rate.
constexpr const char* kMachine = R"(format = 1
name = "{name}"
about = "one device of a fixed rate"

[client]
count = 1
page_cache = false
read_ahead_bytes = 0
request_bytes_max = "1 MiB"

[layout]
stripe_bytes = "1 MiB"
stripe_count = 1

[[servers]]
count = 1
latency_us = 0
concurrency = 64
bandwidth_mb_per_s = {rate}

[sources]
"client" = "Chosen: no cache, so that all written bytes go to the device."
"client.request_bytes_max" = "The longest request of FUSE."
"client.link_latency_us" = "No network."
"client.link_bandwidth_mb_per_s" = "No network."
"layout" = "One device."
"servers" = "Chosen: a rate that this machine can pass on."
"metadata" = "None: files are created beforehand."
"locks" = "One client."
)";

constexpr double kBytesOfMegabyte = 1e6;

std::string replace_once(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

Result<fs::path> write_machine(const fs::path& directory, const std::string& name, double rate) {
  const fs::path path = directory / (name + ".toml");
  std::string text = replace_once(kMachine, "{name}", name);
  text = replace_once(text, "{rate}", fmt::format("{:.0f}", rate / kBytesOfMegabyte));
  if (!(std::ofstream(path) << text)) {
    return failure(
        {.kind = ErrorClass::kIo, .operation = "write a machine file", .path = path.string()});
  }
  return path;
}

}  // namespace

Status make_allocated_file(const std::string& path, std::uint64_t bytes) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) == bytes) return {};
  auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!file) return failure(file.error());
  if (auto cut = (*file)->truncate(0); !cut) return cut;
  const std::vector<std::byte> piece(1_MiB, std::byte{7});
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    if (auto wrote = (*file)->write_at(piece, at); !wrote) return failure(wrote.error());
  }
  return (*file)->sync();
}

std::string fixed_rate_unavailable_reason() {
  if (std::string why = emufs::mount_unavailable_reason(); !why.empty()) return why;
  return usable_cores().size() < 2 ? "two cores are required, for the program and the devices" : "";
}

Result<std::unique_ptr<WriteTarget>> WriteTarget::with_fixed_rate(Context& context,
                                                                  std::uint32_t count,
                                                                  double bytes_per_s) {
  std::unique_ptr<WriteTarget> target(
      new WriteTarget(fmt::format("{:.0f} MB/s", bytes_per_s / kBytesOfMegabyte), Access::kDirect));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("rate-{:.0f}-{}", bytes_per_s / kBytesOfMegabyte, i);
    const auto machine = write_machine(context.directory(), name, bytes_per_s);
    if (!machine) return failure(machine.error());
    auto mounted = emufs::EmufsMount::make(
        context.directory(),
        {.machine = machine->string(), .arguments = {"--no-sync"}, .core = usable_cores().back()});
    if (!mounted) return failure(mounted.error());
    target->directories_.push_back((*mounted)->path().string());
    target->mounts_.push_back(std::move(*mounted));
  }
  return target;
}

std::unique_ptr<WriteTarget> WriteTarget::local(Context& context, Access access) {
  const std::string how = access == Access::kDirect ? "direct" : "buffered";
  std::unique_ptr<WriteTarget> target(new WriteTarget("local disk, " + how, access));
  target->directories_.push_back(context.directory().string());
  return target;
}

Result<std::vector<std::string>> WriteTarget::files(std::uint64_t bytes_each) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories_) {
    paths.push_back(directory + "/written-" + std::to_string(bytes_each));
    if (auto made = make_allocated_file(paths.back(), bytes_each); !made)
      return failure(made.error());
  }
  return paths;
}

}  // namespace forebay::bench::engine
