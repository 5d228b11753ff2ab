// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/places.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/frame/cores.hpp"
#include "storage/file.hpp"

namespace forebay::bench::engine {

namespace fs = std::filesystem;

namespace {

/// A server that does nothing but pass bytes on at its rate.
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
"client" = "Chosen: no cache, so that all that is written goes to the device."
"client.request_bytes_max" = "The longest request of FUSE."
"client.link_latency_us" = "No network."
"client.link_bandwidth_mb_per_s" = "No network."
"layout" = "One device."
"servers" = "Chosen: a rate that this machine can pass on."
"metadata" = "None: files are made beforehand."
"locks" = "One client."
)";

constexpr double kBytesOfMegabyte = 1e6;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

Result<fs::path> write_machine(const fs::path& folder, const std::string& name, double rate) {
  const fs::path path = folder / (name + ".toml");
  std::string text = replaced(kMachine, "{name}", name);
  text = replaced(text, "{rate}", fmt::format("{:.0f}", rate / kBytesOfMegabyte));
  if (!(std::ofstream(path) << text)) {
    return failure(
        {.kind = ErrorClass::kIo, .operation = "write a machine file", .path = path.string()});
  }
  return path;
}

}  // namespace

Status make_blocks(const std::string& path, std::uint64_t bytes) {
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

std::string why_no_fixed_rate() {
  if (std::string why = emufs::why_no_mounts(); !why.empty()) return why;
  return usable_cores().size() < 2 ? "the program and the devices need a core each" : "";
}

Result<std::unique_ptr<Place>> Place::of_fixed_rate(Context& context,
                                                    std::uint32_t count,
                                                    double bytes_per_s) {
  std::unique_ptr<Place> place(
      new Place(fmt::format("{:.0f} MB/s", bytes_per_s / kBytesOfMegabyte), Access::kDirect));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("rate-{:.0f}-{}", bytes_per_s / kBytesOfMegabyte, i);
    const auto machine = write_machine(context.folder(), name, bytes_per_s);
    if (!machine) return failure(machine.error());
    auto mounted = emufs::Mounted::make(
        context.folder(),
        {.machine = machine->string(), .words = {"--no-sync"}, .core = usable_cores().back()});
    if (!mounted) return failure(mounted.error());
    place->folders_.push_back((*mounted)->path().string());
    place->mounts_.push_back(std::move(*mounted));
  }
  return place;
}

std::unique_ptr<Place> Place::local(Context& context, Access access) {
  const std::string how = access == Access::kDirect ? "direct" : "buffered";
  std::unique_ptr<Place> place(new Place("local disk, " + how, access));
  place->folders_.push_back(context.folder().string());
  return place;
}

Result<std::vector<std::string>> Place::files(std::uint64_t bytes_each) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders_) {
    paths.push_back(folder + "/written-" + std::to_string(bytes_each));
    if (auto made = make_blocks(paths.back(), bytes_each); !made) return failure(made.error());
  }
  return paths;
}

}  // namespace forebay::bench::engine
