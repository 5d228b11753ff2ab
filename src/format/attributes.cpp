// SPDX-License-Identifier: Apache-2.0
#include "format/attributes.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/utf8.hpp"
#include "format/checksum.hpp"
#include "format/decode_context.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

/// The bytes of a value in a record. Each text of a list ends with a zero byte.
std::uint64_t value_bytes_of(const AttributeValue& value) noexcept {
  std::uint64_t bytes = value.bytes().size();
  for (const std::string& text : value.texts())
    bytes += text.size();
  return bytes + (value.kind() == AttributeKind::kTexts ? value.texts().size() : 0);
}

/// Dimensions of the shape that the record has.
std::size_t dimensions_of(const AttributeValue& value) noexcept {
  return value.kind() == AttributeKind::kNumbers ? value.shape().size() : 0;
}

std::uint64_t record_bytes_of(const AttributeKey& key, const AttributeValue& value) noexcept {
  const std::uint64_t names = key.field.size() + key.name.size();
  return round_up(sizeof(layout::Attribute) + dimensions_of(value) * layout::kWordBytes +
                      value_bytes_of(value) + names,
                  layout::kWordBytes);
}

/// Appends a record.
void put_record(std::vector<std::byte>& into,
                const AttributeKey& key,
                const AttributeValue& value) {
  const std::size_t end = into.size() + record_bytes_of(key, value);
  const auto append = [&](const void* from, std::size_t bytes) {
    const auto* raw = static_cast<const std::byte*>(from);
    into.insert(into.end(), raw, raw + bytes);
  };
  const bool has_numbers = value.kind() == AttributeKind::kNumbers;
  const layout::Attribute record = {
      .scope = static_cast<std::uint8_t>(key.scope),
      .kind = static_cast<std::uint8_t>(value.kind()),
      .type = has_numbers ? static_cast<std::uint8_t>(value.type()) : std::uint8_t{0},
      .dimensions = checked_cast<std::uint8_t>(dimensions_of(value)),
      .field_bytes = checked_cast<std::uint16_t>(key.field.size()),
      .name_bytes = checked_cast<std::uint16_t>(key.name.size()),
      .value_bytes = value_bytes_of(value)};
  append(&record, sizeof record);
  append(value.shape().data(), dimensions_of(value) * layout::kWordBytes);
  append(value.bytes().data(), value.bytes().size());
  for (const std::string& text : value.texts())
    append(text.c_str(), text.size() + (value.kind() == AttributeKind::kTexts ? 1 : 0));
  append(key.field.data(), key.field.size());
  append(key.name.data(), key.name.size());
  into.resize(end);
}

tl::unexpected<Error> set_error(const AttributeKey& key, ErrorClass kind, std::string cause) {
  return failure({.kind = kind, .operation = "set " + to_string(key), .cause = std::move(cause)});
}

/// The reason why an attribute may not have this key and value; empty if it may.
std::string reject_reason(const AttributeKey& key, const AttributeValue& value) {
  constexpr const char* kNameRule = "a name has 1 to 255 bytes of UTF-8 without control characters";
  if (!is_field_name(key.name)) return kNameRule;
  if (key.scope == AttributeScope::kField && !is_field_name(key.field)) return kNameRule;
  if (value_bytes_of(value) > kAttributeBytesMax)
    return "a value has at most 1 MiB, and this one has " + std::to_string(value_bytes_of(value)) +
           " bytes; put large arrays as a field";
  for (const std::string& text : value.texts())
    if (!is_utf8(text) || text.find('\0') != std::string::npos)
      return "a text is UTF-8 without zero bytes";
  if (value.kind() != AttributeKind::kNumbers) return {};
  const auto type = static_cast<std::uint8_t>(value.type());
  if (type < kElementTypeMin || type > kElementTypeMax) return "its element type is unknown";
  if (value.shape().size() > kDimensionsMax) return "it has more than 8 dimensions";
  if (array_bytes(value.type(), value.shape()) != value.bytes().size())
    return std::to_string(value.bytes().size()) + " bytes do not match its shape";
  return {};
}

/// Decodes records one after another.
class AttributeDecoder {
 public:
  AttributeDecoder(std::span<const std::byte> bytes, const DecodeContext& context)
      : bytes_(bytes), context_(context) {}

  Result<AttributeTable> decode() {
    AttributeTable table;
    while (at_ < bytes_.size())
      if (Status read = read_record(table); !read) return tl::unexpected(read.error());
    return table;
  }

 private:
  Status read_record(AttributeTable& table);
  Result<AttributeValue> read_value(const layout::Attribute& record, std::uint64_t at) const;
  Shape read_shape(const layout::Attribute& record) const {
    Shape shape(record.dimensions);
    const auto from = bytes_.subspan(at_ + sizeof record, shape.size() * layout::kWordBytes);
    if (!from.empty()) std::memcpy(shape.data(), from.data(), from.size());
    return shape;
  }
  std::string text_at(std::uint64_t at, std::uint64_t bytes) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, bytes};
  }
  tl::unexpected<Error> wrong(std::string cause) const {
    return context_.damage_error(at_, std::move(cause));
  }

  std::span<const std::byte> bytes_;
  const DecodeContext& context_;
  std::uint64_t at_ = 0;
  std::optional<AttributeKey> last_;
};

Result<AttributeValue> AttributeDecoder::read_value(const layout::Attribute& record,
                                                    std::uint64_t at) const {
  const auto kind = static_cast<AttributeKind>(record.kind);
  if (kind == AttributeKind::kNumbers) {
    if (record.type < kElementTypeMin || record.type > kElementTypeMax)
      return wrong("an attribute has no known element type");
    return AttributeValue(static_cast<ElementType>(record.type), read_shape(record),
                          bytes_.subspan(at, record.value_bytes));
  }
  if (record.type != 0 || record.dimensions != 0)
    return wrong("a text has an element type or dimensions");
  std::string text = text_at(at, record.value_bytes);
  if (kind == AttributeKind::kText) return AttributeValue(text);
  if (!text.empty() && text.back() != '\0') return wrong("a list of texts has no end");
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < text.size(); begin += texts.back().size() + 1)
    texts.emplace_back(text.c_str() + begin);
  return AttributeValue(std::move(texts));
}

Status AttributeDecoder::read_record(AttributeTable& table) {
  if (bytes_.size() - at_ < sizeof(layout::Attribute)) return wrong("a record has no end");
  const auto record = layout::load<layout::Attribute>(bytes_, at_);
  if (record.scope > static_cast<std::uint8_t>(AttributeScope::kField) ||
      record.kind > static_cast<std::uint8_t>(AttributeKind::kNumbers) ||
      record.dimensions > kDimensionsMax || record.value_bytes > kAttributeBytesMax)
    return wrong("an attribute has no known scope, kind or size");
  const auto scope = static_cast<AttributeScope>(record.scope);
  if (scope != AttributeScope::kField && record.field_bytes != 0)
    return wrong("an attribute that is not of a field names one");
  const std::uint64_t value_at = at_ + sizeof record + record.dimensions * layout::kWordBytes;
  const std::uint64_t field_at = value_at + record.value_bytes;
  const std::uint64_t name_at = field_at + record.field_bytes;
  const std::uint64_t end = round_up(name_at + record.name_bytes, layout::kWordBytes);
  if (end > bytes_.size()) return wrong("a record has no end");
  AttributeKey key = {.scope = scope,
                      .field = text_at(field_at, record.field_bytes),
                      .name = text_at(name_at, record.name_bytes)};
  const auto value = read_value(record, value_at);
  if (!value) return tl::unexpected(value.error());
  if (last_ && *last_ >= key) return wrong("attributes do not rise");
  if (const Status set = table.set(key, *value); !set) return wrong(set.error().cause());
  last_ = std::move(key);
  at_ = end;
  return {};
}

}  // namespace

std::string to_string(const AttributeKey& key) {
  const std::string name = "attribute " + key.name;
  if (key.scope == AttributeScope::kField) return name + " of field " + key.field;
  return name + (key.scope == AttributeScope::kDataset ? " of the dataset" : " of the step");
}

Status AttributeTable::set(const AttributeKey& key, const AttributeValue& value) {
  if (std::string reason = reject_reason(key, value); !reason.empty())
    return set_error(key, ErrorClass::kInvalidArgument, std::move(reason));
  const auto found = entries_.find(key);
  const bool is_new = found == entries_.end();
  const std::uint64_t before = is_new ? 0 : record_bytes_of(key, found->second);
  const std::uint64_t bytes = encoded_bytes_ - before + record_bytes_of(key, value);
  if (bytes > kAttributeTableBytesMax || (is_new && entries_.size() == kAttributesMax))
    return set_error(key, ErrorClass::kLimit,
                     "the attributes of a step in a file are at most 65536, of 16 MiB in all; "
                     "put large values as a field");
  entries_.insert_or_assign(key, value);
  encoded_bytes_ = bytes;
  return {};
}

Status AttributeTable::add_missing(const AttributeTable& other) {
  for (const auto& [key, value] : other.entries_) {
    if (entries_.contains(key)) continue;
    if (Status added = set(key, value); !added) return added;
  }
  return {};
}

std::vector<Attribute> list_attributes(const AttributeMap& attributes,
                                       AttributeScope scope,
                                       const std::string& field) {
  std::vector<Attribute> found;
  const AttributeKey first = {.scope = scope, .field = field};
  for (auto at = attributes.lower_bound(first); at != attributes.end(); ++at) {
    if (at->first.scope != scope || at->first.field != field) break;
    found.push_back({at->first.name, at->second});
  }
  return found;
}

std::vector<std::byte> AttributeTable::encode() const {
  std::vector<std::byte> bytes;
  bytes.reserve(encoded_bytes_);
  for (const auto& [key, value] : entries_)
    put_record(bytes, key, value);
  FOREBAY_ASSERT(bytes.size() == encoded_bytes_);
  return bytes;
}

Result<AttributeTable> AttributeTable::decode(std::span<const std::byte> bytes,
                                              const std::string& path,
                                              std::uint64_t offset) {
  const DecodeContext context = {"attributes", path, offset};
  return AttributeDecoder(bytes, context).decode();
}

std::uint64_t hash_of(const AttributeValue& value) {
  std::vector<std::byte> bytes;
  put_record(bytes, {}, value);
  return metadata_checksum(kAttributesMagic, bytes);
}

}  // namespace forebay::format
