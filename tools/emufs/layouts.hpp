// SPDX-License-Identifier: Apache-2.0
// The layout of each file of the backing directory, and the names under which programs read and set
// it. It is stored in the file's extended attribute, so it persists across mounts.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "model/layout.hpp"
#include "tools/emufs/inodes.hpp"

namespace forebay::emufs {

/// A requested layout: of a directory, for files to be created in it; of a file, its own. Absent
/// values are the machine's default; a stripe count of 0 means all servers.
struct LayoutRequest {
  std::optional<std::uint64_t> stripe_bytes;
  std::optional<std::uint32_t> stripe_count;
  std::optional<std::uint32_t> first_server;

  friend bool operator==(const LayoutRequest&, const LayoutRequest&) = default;
};

/// "stripe_bytes=1048576 stripe_count=4 first_server=rotate"; absent values are left out.
std::string to_text(const LayoutRequest& request);
/// None if the text is not a layout request.
std::optional<LayoutRequest> parse_layout_request(std::string_view text);

/// Sets one of the three names without "user.emufs." to a text. EINVAL if name or value is invalid
/// on this machine.
ErrnoResult<LayoutRequest> with_value(LayoutRequest request,
                                      std::string_view name,
                                      std::string_view value,
                                      const model::Machine& machine);

/// The layout of a machine's `index`-th new file for a request.
model::Layout resolve_layout(const LayoutRequest& request,
                             const model::Machine& machine,
                             std::uint64_t index);

/// Thread-safe.
class Layouts {
 public:
  explicit Layouts(const model::Machine& machine) : machine_(machine) {}

  /// The next new file gets the index of the first one.
  void reset_rotation() { created_files_ = 0; }

  /// Of a regular file; read from the backing file once.
  model::Layout of(Inode& file);
  /// After the creation of a file or directory in `directory`: a file gets a layout, a directory
  /// inherits the request.
  void on_created(const Inode& directory, Inode& made);

  /// The value of stripe_bytes, stripe_count, first_server or layout. ENODATA for other names.
  ErrnoResult<std::string> get(Inode& inode, std::string_view name);
  /// Sets one of the first three. EEXIST for a file with data, EINVAL for a wrong value.
  int set(Inode& inode, std::string_view name, std::string_view value);
  /// Resets all values to the machine's defaults.
  int remove(Inode& inode);

 private:
  std::optional<LayoutRequest> load_request(const Inode& inode) const;
  int store(Inode& inode, const LayoutRequest& request) const;
  LayoutRequest request_of(Inode& inode);

  const model::Machine& machine_;
  std::atomic<std::uint64_t> created_files_{0};
};

}  // namespace forebay::emufs
