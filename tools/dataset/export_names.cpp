// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/export_names.hpp"

namespace forebay::dataset_tool {

std::string node_name(std::string_view field) {
  std::string name;
  for (const char letter : field) {
    switch (letter) {
      case '/':
        name += "%2F";
        break;
      case '\\':
        name += "%5C";
        break;
      case '%':
        name += "%25";
        break;
      case '.':
        name += name.empty() ? "%2E" : ".";
        break;
      default:
        name += letter;
    }
  }
  return name;
}

std::string numpy_type(ElementType type, ByteOrder order) {
  constexpr std::string_view kKinds = "?iiiiuuuufffccu";
  const std::size_t bytes = element_size(type);
  const char first = bytes == 1 ? '|' : order == ByteOrder::kBig ? '>' : '<';
  return std::string{first, kKinds[static_cast<std::uint8_t>(type)]} + std::to_string(bytes);
}

}  // namespace forebay::dataset_tool
