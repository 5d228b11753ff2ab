// SPDX-License-Identifier: Apache-2.0
// Reads small text files of /proc and /sys.
#include "tools/probe/text_file.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

namespace forebay::probe {

std::string read_text(const std::filesystem::path& path) {
  // Not by iterators, which pass on the exception of a failed read. In /proc, files of a thread can
  // be opened, and fail to be read once the thread has ended.
  std::ostringstream whole;
  whole << std::ifstream(path).rdbuf();
  std::string text = std::move(whole).str();
  const auto last = text.find_last_not_of(" \t\n");
  text.erase(last == std::string::npos ? 0 : last + 1);
  return text;
}

std::optional<std::uint64_t> read_number(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

std::string value_after(const std::string& text, const std::string& key) {
  std::size_t at = text.rfind(key, 0) == 0 ? 0 : text.find("\n" + key);
  if (at == std::string::npos) return {};
  at += key.size() + (text[at] == '\n' ? 1 : 0);
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::size_t start = std::min(text.find_first_not_of(" \t:", at), end);
  return text.substr(start, end - start);
}

std::string selected_choice(const std::string& text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return text;
  return text.substr(open + 1, close - open - 1);
}

}  // namespace forebay::probe
