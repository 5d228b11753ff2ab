// SPDX-License-Identifier: Apache-2.0
#include "bench/read/emufs_monitor.hpp"

#include <cerrno>
#include <string>

#include <sys/xattr.h>

#include "model/machine.hpp"
#include "model/queueing.hpp"

namespace forebay::bench::read {

namespace {

namespace fs = std::filesystem;

using nlohmann::json;

const std::string kPrefix = "user.emufs.";
constexpr std::size_t kValueBytesMax = 64U << 10U;  // bound of attributes on Linux

tl::unexpected<Error> io_failure(const std::string& operation, const fs::path& path, int why) {
  return failure(system_error({.operation = operation, .path = path.string()}, why));
}

Result<std::string> attribute_of(const fs::path& path, const std::string& name) {
  const std::string full = kPrefix + name;
  std::string value(kValueBytesMax, '\0');
  const ssize_t got = ::getxattr(path.c_str(), full.c_str(), value.data(), value.size());
  if (got < 0) return io_failure("read attribute " + full + " of", path, errno);
  value.resize(static_cast<std::size_t>(got));
  return value;
}

}  // namespace

std::optional<EmufsMonitor> EmufsMonitor::find(const fs::path& directory) {
  // Only the root of a mount has it.
  for (fs::path path = fs::absolute(directory).lexically_normal();; path = path.parent_path()) {
    if (attribute_of(path, "stat")) return EmufsMonitor(path);
    if (path == path.parent_path()) return std::nullopt;
  }
}

Status EmufsMonitor::reset_counters() const {
  const std::string name = kPrefix + "reset";
  if (::setxattr(root_.c_str(), name.c_str(), "1", 1, 0) == 0) return {};
  return io_failure("set attribute " + name + " of", root_, errno);
}

Result<json> EmufsMonitor::read_json(const std::string& attribute) const {
  const auto text = attribute_of(root_, attribute);
  if (!text) return failure(text.error());
  json found = json::parse(*text, nullptr, false);
  if (!found.is_discarded()) return found;
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "read attribute " + kPrefix + attribute + " of",
                  .path = root_.string(),
                  .cause = "it is not JSON, as its emufs has another version; mount it again"});
}

Result<json> EmufsMonitor::rows(const std::string& kind, std::size_t count) const {
  json all = json::array();
  while (all.size() < count) {
    const auto some = read_json("stat." + kind + "." + std::to_string(all.size()));
    if (!some) return failure(some.error());
    if (some->empty()) break;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

Result<json> EmufsMonitor::counters() const {
  const auto all = read_json("stat");
  if (!all) return failure(all.error());
  json result;
  for (const char* kind : {"servers", "metadata"}) {
    auto of_kind = rows(kind, all->value(kind, std::size_t{0}));
    if (!of_kind) return failure(of_kind.error());
    result[kind] = std::move(*of_kind);
  }
  return result;
}

Result<EmufsMonitor::Limit> EmufsMonitor::limit() const {
  const auto text = attribute_of(root_, "machine");
  if (!text) return failure(text.error());
  const auto machine = model::parse_machine(*text, root_.string());
  if (!machine) return failure(machine.error());
  return Limit{.machine = machine->name,
               .mb_per_s = model::storage_limit_mb_per_s(*machine, model::RequestKind::kRead)};
}

}  // namespace forebay::bench::read
