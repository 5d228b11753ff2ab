// SPDX-License-Identifier: Apache-2.0
// Where the loops of this benchmark write: devices that give the same rate all the time, which no
// disk does, and the local disk beside them.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/emufs/mounted.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// A folder on each of several devices, and how files there are written.
class Place {
 public:
  /// `count` mounts of emufs, each a device of its own that writes so many bytes a second; they run
  /// on the last core, as the processors of a storage are not the program's.
  static Result<std::unique_ptr<Place>> of_fixed_rate(Context& context,
                                                      std::uint32_t count,
                                                      double bytes_per_s);
  /// The folder of the run, past the page cache or through it.
  static std::unique_ptr<Place> local(Context& context, Access access);

  /// A file on each device, with blocks for `bytes_each`; made once for each size.
  Result<std::vector<std::string>> files(std::uint64_t bytes_each);

  const std::string& name() const noexcept { return name_; }
  Access access() const noexcept { return access_; }

 private:
  Place(std::string name, Access access) : name_(std::move(name)), access_(access) {}

  std::string name_;
  Access access_;
  std::vector<std::unique_ptr<emufs::Mounted>> mounts_;
  std::vector<std::string> folders_;
};

/// Makes a file with blocks for `bytes`, unless it is there with that size.
Status make_blocks(const std::string& path, std::uint64_t bytes);

/// Why there are no devices of a fixed rate here; empty if there are.
std::string why_no_fixed_rate();

}  // namespace forebay::bench::engine
