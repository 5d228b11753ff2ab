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

bool set_word(LayoutWish& wish, std::string_view name, std::string_view value) {
  if (name == "stripe_bytes") {
    wish.stripe_bytes = number(value);
    return wish.stripe_bytes.has_value();
  }
  if (name == "stripe_count") {
    wish.stripe_count = small_number(value);
    return wish.stripe_count.has_value();
  }
  if (name != "first_server") return false;
  wish.first_server = small_number(value);
  return wish.first_server.has_value() || value == kRotate;
}

bool is_possible(const LayoutWish& wish, const model::Machine& machine) {
  if (wish.stripe_bytes) {
    const std::uint64_t bytes = *wish.stripe_bytes;
    if (!std::has_single_bit(bytes) || bytes < kStripeBytesMin || bytes > kStripeBytesMax) {
      return false;
    }
  }
  if (wish.stripe_count && *wish.stripe_count > machine.server_count()) return false;
  return !wish.first_server || *wish.first_server < machine.server_count();
}

LayoutWish wish_for(const model::Layout& layout) {
  return {layout.stripe_bytes, layout.stripe_count, layout.first_server};
}

}  // namespace

std::string to_text(const LayoutWish& wish) {
  std::string text;
  const auto add = [&text](std::string_view name, const auto& value) {
    if (!value) return;
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(std::to_string(*value));
  };
  add("stripe_bytes", wish.stripe_bytes);
  add("stripe_count", wish.stripe_count);
  add("first_server", wish.first_server);
  return text;
}

std::optional<LayoutWish> parse_layout_wish(std::string_view text) {
  LayoutWish wish;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!set_word(wish, word.substr(0, equals), word.substr(equals + 1))) return std::nullopt;
  }
  return wish;
}

Outcome<LayoutWish> with_value(LayoutWish wish,
                               std::string_view name,
                               std::string_view value,
                               const model::Machine& machine) {
  if (!set_word(wish, name, value) || !is_possible(wish, machine)) return fails(EINVAL);
  return wish;
}

model::Layout fulfil(const LayoutWish& wish, const model::Machine& machine, std::uint64_t index) {
  model::Layout layout = layout_of_new_file(machine, index);
  if (wish.stripe_bytes) layout.stripe_bytes = *wish.stripe_bytes;
  if (wish.stripe_count) {
    layout.stripe_count = *wish.stripe_count == 0 ? machine.server_count() : *wish.stripe_count;
  }
  if (wish.first_server) layout.first_server = *wish.first_server;
  return layout;
}

std::optional<LayoutWish> Layouts::stored(const Inode& inode) const {
  std::array<char, 256> text{};
  const auto size = ::getxattr(inode.path().c_str(), kStored, text.data(), text.size());
  if (size < 0) return std::nullopt;
  auto wish = parse_layout_wish({text.data(), static_cast<std::size_t>(size)});
  // Of another machine: what this one cannot have counts as not said.
  if (!wish || !is_possible(*wish, machine_)) return std::nullopt;
  return wish;
}

int Layouts::store(Inode& inode, const LayoutWish& wish) const {
  const std::string text = to_text(wish);
  const std::string path = inode.path();
  const int result = text.empty() ? ::removexattr(path.c_str(), kStored)
                                  : ::setxattr(path.c_str(), kStored, text.data(), text.size(), 0);
  if (result != 0 && !(text.empty() && errno == ENODATA)) return errno;
  inode.set_layout(std::nullopt);
  return 0;
}

model::Layout Layouts::of(Inode& file) {
  if (const auto known = file.layout()) return *known;
  // A file that was there before begins where its number says, on each mount anew.
  const auto layout = fulfil(stored(file).value_or(LayoutWish{}), machine_, file.key().number);
  file.set_layout(layout);
  return layout;
}

LayoutWish Layouts::wish_of(Inode& inode) {
  if (inode.kind() == S_IFREG) return wish_for(of(inode));
  return stored(inode).value_or(LayoutWish{});
}

void Layouts::on_created(const Inode& folder, Inode& made) {
  const LayoutWish wish = stored(folder).value_or(LayoutWish{});
  if (made.kind() == S_IFDIR) {
    if (wish != LayoutWish{}) store(made, wish);
    return;
  }
  if (made.kind() != S_IFREG) return;
  const model::Layout layout = fulfil(wish, machine_, made_.fetch_add(1));
  // With one server there is nothing to remember. Where it cannot be kept, it holds for this mount.
  if (machine_.server_count() > 1) store(made, wish_for(layout));
  made.set_layout(layout);
}

Outcome<std::string> Layouts::get(Inode& inode, std::string_view name) {
  const LayoutWish wish = wish_of(inode);
  const LayoutWish full = wish_for(fulfil(wish, machine_, 0));
  const bool rotates =
      inode.kind() != S_IFREG && !wish.first_server && !machine_.layout.first_server.has_value();
  const std::string first = rotates ? std::string(kRotate) : std::to_string(*full.first_server);
  if (name == "stripe_bytes") return std::to_string(*full.stripe_bytes);
  if (name == "stripe_count") return std::to_string(*full.stripe_count);
  if (name == "first_server") return first;
  if (name != "layout") return fails(ENODATA);
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
  const auto wish = with_value(wish_of(inode), name, value, machine_);
  if (!wish) return wish.error();
  if (inode.kind() != S_IFREG) return store(inode, *wish);
  // A file's layout is kept whole: what is left to the machine is decided now.
  return store(inode, wish_for(fulfil(*wish, machine_, made_.load())));
}

int Layouts::remove(Inode& inode) {
  if (inode.kind() != S_IFDIR) return EEXIST;
  return store(inode, {});
}

}  // namespace forebay::emufs
