// SPDX-License-Identifier: Apache-2.0
// Locks that grow, as Lustre grants them: each server keeps the locks on its share of a file, its
// object, and gives to who asks for some bytes as many around them as nobody else has or wants. One
// who writes alone asks once; several who write side by side call each other's locks back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/parts.hpp"

namespace forebay::model {

/// What one server holds of one file.
struct ObjectName {
  FileId file = 0;
  std::uint32_t server = 0;
};

/// What follows from a call.
struct ObjectNews {
  /// These parts have their locks now, in this order.
  std::vector<PartIndex> granted = {};
  /// These locks are given back by their holders: given_up() is to be called when that is done.
  std::vector<std::uint32_t> going = {};
};

/// A lock that its holder has given up.
struct GivenUp {
  ObjectName object = {};
  /// Of the file, from the first byte to the last; what lies between on other servers is in it.
  ByteRange range = {};
  ClientId loser = 0;
  ClientId taker = 0;  ///< who called it back
  ObjectNews news = {};
};

/// Looks at `client`, `mode`, `range` and `lock_range` of parts, and notes `lock` in them. Parts of
/// one client do not exclude each other, but where its lock was called back they wait like all
/// others.
class ObjectLocks {
 public:
  explicit ObjectLocks(Parts& parts) : parts_(&parts) {}

  /// The part wants its bytes, of a file that is cut so, locked; it may stand in no other queue
  /// until they are.
  ObjectNews take(ObjectName name, const Layout& layout, PartIndex part);
  /// A part that had its lock is done. Its client keeps the lock, unless it was called back.
  ObjectNews release(ObjectName name, const PartState& part);
  /// A lock that was `going` is gone.
  GivenUp given_up(std::uint32_t number);
  /// Locks on this file that nobody uses or wants are held by nobody.
  void forget_file(FileId file);

 private:
  struct Lock {
    ClientId client = 0;
    LockMode mode = LockMode::kShared;
    ByteRange range = {};
    std::uint64_t users = 0;
    std::optional<ClientId> taker = std::nullopt;  ///< who called it back
  };
  struct Object {
    std::map<std::uint64_t, Lock> locks;  ///< by number, in the order in which they were granted
    std::vector<PartIndex> waiting;       ///< in the order in which they came
    Layout layout;
    std::uint32_t column = 0;  ///< the stripes with this number, and each stripe_count further
  };
  struct Going {
    ObjectName object = {};
    std::uint64_t lock = 0;
  };

  Object& find(ObjectName name) { return files_[name.file][name.server]; }
  bool use_own(Object& object, PartIndex part);
  bool is_in_the_way(const Lock& lock, const PartState& part) const;
  bool is_free(const Object& object, const PartState& part, std::size_t place) const;
  void call_back(ObjectName name, Object& object, const PartState& part, ObjectNews& news);
  void grant(Object& object, PartIndex part);
  bool get(Object& object, PartIndex part, std::size_t place);
  ByteRange grown(const Object& object, PartIndex part) const;
  std::uint32_t note_going(ObjectName name, std::uint64_t lock);
  void settle(ObjectName name, Object& object, ObjectNews& news);

  Parts* parts_;
  std::unordered_map<FileId, std::unordered_map<std::uint32_t, Object>> files_;
  std::unordered_map<std::uint32_t, Going> going_;
  std::uint32_t goings_ = 0;
  std::uint64_t locks_granted_ = 0;
};

}  // namespace forebay::model
