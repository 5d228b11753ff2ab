// SPDX-License-Identifier: Apache-2.0
// How each file of the backing folder is cut, kept in its extended attribute so that it holds over
// mounts, and the names under which programs see and set it.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "model/layout.hpp"
#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

/// What was asked for: of a folder, for files to be made in it; of a file, its own. What is absent
/// is the machine's default; a stripe count of 0 means all servers.
struct LayoutWish {
  std::optional<std::uint64_t> stripe_bytes;
  std::optional<std::uint32_t> stripe_count;
  std::optional<std::uint32_t> first_server;

  friend bool operator==(const LayoutWish&, const LayoutWish&) = default;
};

/// "stripe_bytes=1048576 stripe_count=4 first_server=rotate"; what is absent is left out.
std::string to_text(const LayoutWish& wish);
/// None if the text is no wish.
std::optional<LayoutWish> parse_layout_wish(std::string_view text);

/// One of the three names without "user.emufs." set to a text: EINVAL if name or value cannot be,
/// on this machine.
Outcome<LayoutWish> with_value(LayoutWish wish,
                               std::string_view name,
                               std::string_view value,
                               const model::Machine& machine);

/// The layout of a machine's `index`-th new file under a wish.
model::Layout fulfil(const LayoutWish& wish, const model::Machine& machine, std::uint64_t index);

/// Any thread.
class Layouts {
 public:
  explicit Layouts(const model::Machine& machine) : machine_(machine) {}

  /// The next new file is the first one again.
  void begin_rotation() { made_ = 0; }

  /// Of a regular file; read from the backing file once.
  model::Layout of(Inode& file);
  /// A new file or folder in `folder`: it gets a layout, or inherits the folder's wish.
  void on_created(const Inode& folder, Inode& made);

  /// The value of stripe_bytes, stripe_count, first_server or layout. ENODATA for other names.
  Outcome<std::string> get(Inode& inode, std::string_view name);
  /// Sets one of the first three. EEXIST for a file with data, EINVAL for a wrong value.
  int set(Inode& inode, std::string_view name, std::string_view value);
  /// Back to the machine's default, all of it.
  int remove(Inode& inode);

 private:
  std::optional<LayoutWish> stored(const Inode& inode) const;
  int store(Inode& inode, const LayoutWish& wish) const;
  LayoutWish wish_of(Inode& inode);

  const model::Machine& machine_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace forebay::emufs
