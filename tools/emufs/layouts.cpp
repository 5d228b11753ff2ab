// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/layouts.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/xattr.h>

namespace forebay::emufs {

namespace {

constexpr const char* kStored = "user.emufs.layout";
constexpr std::string_view kRotate = "rotate";
constexpr std::uint64_t kStripeBytesMin = 4_KiB;
constexpr std::uint64_t kStripeBytesMax = 1_GiB;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A number below 2^32.
std::optional<std::uint32_t> small_number(std::string_view text) {
  const auto value = number(text);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

bool set_field(LayoutRequest& request, std::string_view name, std::string_view value) {
  if (name == "stripe_bytes") {
    request.stripe_bytes = number(value);
    return request.stripe_bytes.has_value();
  }
  if (name == "stripe_count") {
    request.stripe_count = small_number(value);
    return request.stripe_count.has_value();
  }
  if (name != "first_server") return false;
  request.first_server = small_number(value);
  return request.first_server.has_value() || value == kRotate;
}

bool is_valid(const LayoutRequest& request, const model::Machine& machine) {
  if (request.stripe_bytes) {
    const std::uint64_t bytes = *request.stripe_bytes;
    if (!std::has_single_bit(bytes) || bytes < kStripeBytesMin || bytes > kStripeBytesMax) {
      return false;
    }
  }
  if (request.stripe_count && *request.stripe_count > machine.server_count()) return false;
  return !request.first_server || *request.first_server < machine.server_count();
}

LayoutRequest request_for(const model::Layout& layout) {
  return {layout.stripe_bytes, layout.stripe_count, layout.first_server};
}

}  // namespace

std::string to_text(const LayoutRequest& request) {
  std::string text;
  const auto add = [&text](std::string_view name, const auto& value) {
    if (!value) return;
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(std::to_string(*value));
  };
  add("stripe_bytes", request.stripe_bytes);
  add("stripe_count", request.stripe_count);
  add("first_server", request.first_server);
  return text;
}

std::optional<LayoutRequest> parse_layout_request(std::string_view text) {
  LayoutRequest request;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!set_field(request, word.substr(0, equals), word.substr(equals + 1))) return std::nullopt;
  }
  return request;
}

ErrnoResult<LayoutRequest> with_value(LayoutRequest request,
                                      std::string_view name,
                                      std::string_view value,
                                      const model::Machine& machine) {
  if (!set_field(request, name, value) || !is_valid(request, machine)) return errno_failure(EINVAL);
  return request;
}

model::Layout resolve_layout(const LayoutRequest& request,
                             const model::Machine& machine,
                             std::uint64_t index) {
  model::Layout layout = layout_of_new_file(machine, index);
  if (request.stripe_bytes) layout.stripe_bytes = *request.stripe_bytes;
  if (request.stripe_count) {
    layout.stripe_count =
        *request.stripe_count == 0 ? machine.server_count() : *request.stripe_count;
  }
  if (request.first_server) layout.first_server = *request.first_server;
  return layout;
}

std::optional<LayoutRequest> Layouts::load_request(const Inode& inode) const {
  std::array<char, 256> text{};
  const auto size = ::getxattr(inode.path().c_str(), kStored, text.data(), text.size());
  if (size < 0) return std::nullopt;
  auto request = parse_layout_request({text.data(), static_cast<std::size_t>(size)});
  // Of another machine: values that are invalid on this one count as absent.
  if (!request || !is_valid(*request, machine_)) return std::nullopt;
  return request;
}

int Layouts::store(Inode& inode, const LayoutRequest& request) const {
  const std::string text = to_text(request);
  const std::string path = inode.path();
  const int result = text.empty() ? ::removexattr(path.c_str(), kStored)
                                  : ::setxattr(path.c_str(), kStored, text.data(), text.size(), 0);
  if (result != 0 && !(text.empty() && errno == ENODATA)) return errno;
  inode.set_layout(std::nullopt);
  return 0;
}

model::Layout Layouts::of(Inode& file) {
  if (const auto known = file.layout()) return *known;
  // A file that existed before the mount has its first server by its inode number, on each mount.
  const auto layout =
      resolve_layout(load_request(file).value_or(LayoutRequest{}), machine_, file.key().number);
  file.set_layout(layout);
  return layout;
}

LayoutRequest Layouts::request_of(Inode& inode) {
  if (inode.kind() == S_IFREG) return request_for(of(inode));
  return load_request(inode).value_or(LayoutRequest{});
}

void Layouts::on_created(const Inode& directory, Inode& made) {
  const LayoutRequest request = load_request(directory).value_or(LayoutRequest{});
  if (made.kind() == S_IFDIR) {
    if (request != LayoutRequest{}) store(made, request);
    return;
  }
  if (made.kind() != S_IFREG) return;
  const model::Layout layout = resolve_layout(request, machine_, created_files_.fetch_add(1));
  // With one server there is nothing to store. If it cannot be stored, it holds for this mount.
  if (machine_.server_count() > 1) store(made, request_for(layout));
  made.set_layout(layout);
}

ErrnoResult<std::string> Layouts::get(Inode& inode, std::string_view name) {
  const LayoutRequest request = request_of(inode);
  const LayoutRequest full = request_for(resolve_layout(request, machine_, 0));
  const bool rotates =
      inode.kind() != S_IFREG && !request.first_server && !machine_.layout.first_server.has_value();
  const std::string first = rotates ? std::string(kRotate) : std::to_string(*full.first_server);
  if (name == "stripe_bytes") return std::to_string(*full.stripe_bytes);
  if (name == "stripe_count") return std::to_string(*full.stripe_count);
  if (name == "first_server") return first;
  if (name != "layout") return errno_failure(ENODATA);
  return "stripe_bytes=" + std::to_string(*full.stripe_bytes) +
         " stripe_count=" + std::to_string(*full.stripe_count) + " first_server=" + first;
}

int Layouts::set(Inode& inode, std::string_view name, std::string_view value) {
  if (inode.kind() == S_IFREG) {
    struct stat attributes{};
    if (::fstatat(inode.fd(), "", &attributes, AT_EMPTY_PATH) != 0) return errno;
    if (attributes.st_size > 0) return EEXIST;
  } else if (inode.kind() != S_IFDIR) {
    return EOPNOTSUPP;
  }
  const auto request = with_value(request_of(inode), name, value, machine_);
  if (!request) return request.error();
  if (inode.kind() != S_IFREG) return store(inode, *request);
  // A file's layout is stored complete: the machine's defaults are resolved now.
  return store(inode, request_for(resolve_layout(*request, machine_, created_files_.load())));
}

int Layouts::remove(Inode& inode) {
  if (inode.kind() != S_IFDIR) return EEXIST;
  return store(inode, {});
}

}  // namespace forebay::emufs
