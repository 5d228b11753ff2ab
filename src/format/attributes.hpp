// SPDX-License-Identifier: Apache-2.0
// AttributeTable: the attributes of a step, as an index stores them and as ranks send them.
#pragma once

#include <forebay/attribute.hpp>

#include <compare>
#include <map>

#include "format/records.hpp"

namespace forebay::format {

inline constexpr std::size_t kAttributesMax = 65'536;
inline constexpr std::uint64_t kAttributeTableBytesMax = 16_MiB;

/// What an attribute describes.
enum class AttributeScope : std::uint8_t { kDataset = 0, kStep = 1, kField = 2 };

/// Identifies an attribute of a step.
struct AttributeKey {
  AttributeScope scope = AttributeScope::kStep;
  std::string field = {};  ///< empty unless the scope is kField
  std::string name = {};

  friend auto operator<=>(const AttributeKey&, const AttributeKey&) = default;
};

/// "attribute units of field velocity", for Errors.
std::string to_string(const AttributeKey& key);

using AttributeMap = std::map<AttributeKey, AttributeValue>;

/// Attributes of a scope and, for kField, of a field; by name.
std::vector<Attribute> list_attributes(const AttributeMap& attributes,
                                       AttributeScope scope,
                                       const std::string& field = {});

/// Within its limits at all times. One thread at a time.
class AttributeTable {
 public:
  /// Sets a value, or replaces it. Fails with kInvalidArgument, without an effect, if name or value
  /// is not valid; with kLimit if the table would exceed its limits.
  Status set(const AttributeKey& key, const AttributeValue& value);
  /// Sets the attributes of `other` that this table does not have.
  Status add_missing(const AttributeTable& other);

  const AttributeMap& entries() const noexcept { return entries_; }
  bool empty() const noexcept { return entries_.empty(); }
  std::uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }
  /// The records of docs/formats/dataset.md, "Attributes".
  std::vector<std::byte> encode() const;
  /// kDamage if the bytes are no such records. `path` and `offset` are the place of the
  /// bytes, for Errors.
  static Result<AttributeTable> decode(std::span<const std::byte> bytes,
                                       const std::string& path,
                                       std::uint64_t offset);

 private:
  AttributeMap entries_;
  std::uint64_t encoded_bytes_ = 0;
};

/// Values with the same hash are equal, but for a chance of 2^-64.
std::uint64_t hash_of(const AttributeValue& value);

}  // namespace forebay::format
