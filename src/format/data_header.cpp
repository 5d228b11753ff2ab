// SPDX-License-Identifier: Apache-2.0
#include "format/data_header.hpp"

#include "format/checksum.hpp"
#include "format/decode_context.hpp"
#include "format/layout.hpp"

namespace forebay::format {

HeaderPage encode_header(const DataHeader& header) noexcept {
  layout::DataHeader record;
  record.common.dataset = header.dataset;
  record.group = header.name.group;
  record.file = header.name.file;
  HeaderPage page;
  layout::store(record, page);
  record.checksum = metadata_checksum(kDataMagic, layout::checksummed_bytes(page));
  layout::store(record, page);
  return page;
}

Result<DataHeader> decode_header(std::span<const std::byte> bytes, const std::string& path) {
  const DecodeContext context = {"header", path};
  if (bytes.size() < kPageBytes)
    return context.make_error(ErrorClass::kShortFile, bytes.size(),
                              "a data file begins with 4096 bytes");
  const auto page = bytes.first(kPageBytes);
  const auto record = layout::load<layout::DataHeader>(page);
  if (record.common.magic != kDataMagic)
    return context.damage_error(0, "it does not begin with FbyData_");
  if (record.checksum != metadata_checksum(kDataMagic, layout::checksummed_bytes(page)))
    return context.damage_error(0, "its checksum does not fit: bytes 0 to 4095 were changed");
  if (record.common.major > kMajorVersion) return context.version_error(record.common.major);
  return DataHeader{record.common.dataset, {record.group, record.file}};
}

}  // namespace forebay::format
