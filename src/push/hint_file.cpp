// SPDX-License-Identifier: Apache-2.0
#include "push/hint_file.hpp"

#include <forebay/temporary_file.hpp>

#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include <fnmatch.h>
#include <sys/stat.h>

#include "base/printable.hpp"
#include "base/text_file.hpp"
#include "model/machine_reader.hpp"

namespace forebay::push {

namespace {

constexpr std::int64_t kHintFormat = 1;
constexpr std::string_view kSpecial = "*?[\\";  // in patterns
constexpr std::string_view kOperation = "read hints";
constexpr std::uint64_t kReadsMax = std::numeric_limits<std::int64_t>::max();
/// Of a hint, apart from its signature and its path, of which each byte can be escaped by 6.
constexpr std::size_t kKeysBytesMax = 256;
constexpr std::size_t kEscapeBytes = 6;
constexpr std::size_t kHeadBytesMax = 16 * 1024;

std::shared_ptr<const trace::Signature> parse_reads(const toml::source_region& place,
                                                    const std::string& text,
                                                    model::ParseErrors& errors) {
  auto signature = trace::parse_signature(text);
  if (!signature) {
    errors.add(place, "hint.signature: " + signature.error().cause());
    return nullptr;
  }
  if (signature->operation != trace::Operation::kRead)
    errors.add(place, "hint.signature describes writes: write a signature of reads");
  return std::make_shared<const trace::Signature>(std::move(*signature));
}

/// The strings of the key `parameters`.
std::vector<std::string> read_names(const toml::node& node, model::ParseErrors& errors) {
  std::vector<std::string> names;
  const toml::array* const entries = node.as_array();
  for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i)
    if (const auto* const name = entries->get(i)->as_string()) names.push_back(name->get());
  if (entries == nullptr || names.size() != entries->size())
    errors.add(node.source(), "hint.parameters is not an array of strings: write names in it");
  return names;
}

std::shared_ptr<const ParametricSignature> parse_parametric(const toml::source_region& place,
                                                            const std::string& text,
                                                            std::vector<std::string> names,
                                                            model::ParseErrors& errors) {
  auto signature = parse_parametric_signature(text, std::move(names));
  if (signature) return std::make_shared<const ParametricSignature>(std::move(*signature));
  errors.add(place, "hint.signature: " + signature.error().cause());
  return nullptr;
}

void read_signature(const toml::table& table,
                    const std::string& text,
                    FileHint& hint,
                    model::ParseErrors& errors) {
  const toml::node* const node = table.get("signature");
  const toml::node* const parameters = table.get("parameters");
  const auto& place = node == nullptr ? table.source() : node->source();
  if (parameters == nullptr)
    hint.signature = parse_reads(place, text, errors);
  else
    hint.parametric = parse_parametric(place, text, read_names(*parameters, errors), errors);
}

toml::table table_of(const FileHint& hint) {
  toml::table table{{"file", hint.file},
                    {"reads", static_cast<std::int64_t>(hint.reads)},
                    {"explained", hint.explained}};
  // A time before 1970 counts as unknown.
  for (const auto& [key, value] : {std::pair("size_bytes", hint.version.size_bytes),
                                   std::pair("modified_ns", hint.version.modified_ns)})
    if (value > 0 && value <= kReadsMax) table.insert(key, static_cast<std::int64_t>(value));
  if (hint.parametric == nullptr) {
    table.insert("signature", trace::to_text(*hint.signature));
    return table;
  }
  toml::array names;
  for (const std::string& name : hint.parametric->parameters)
    names.push_back(name);
  table.insert("signature", hint.parametric->text);
  table.insert("parameters", std::move(names));
  return table;
}

FileHint read_hint(const toml::table& table, model::ParseErrors& errors) {
  FileHint hint;
  std::string signature;
  model::TableReader reader(table, "hint.", errors);
  reader.text("file", hint.file, model::FieldPresence::kRequired);
  reader.text("signature", signature, model::FieldPresence::kRequired);
  reader.count("reads", hint.reads, {0, kReadsMax}, model::FieldPresence::kOptional);
  reader.real("explained", hint.explained, model::RealRule::kShare);
  for (const auto& [key, member] : {std::pair("size_bytes", &FileVersion::size_bytes),
                                    std::pair("modified_ns", &FileVersion::modified_ns)})
    reader.count(key, hint.version.*member, {0, kReadsMax}, model::FieldPresence::kOptional);
  reader.other("parameters");
  reader.finish();
  if (hint.file.empty() || hint.file.find('\0') != std::string::npos)
    errors.add(table.source(), "hint.file is empty or has a zero byte: write a path or a pattern");
  if (!errors.first()) read_signature(table, signature, hint, errors);
  return hint;
}

}  // namespace

Result<std::vector<FileHint>> parse_hints(std::string_view text, const std::string& path) {
  const Result<toml::table> root = model::parse_toml(text, path, kOperation);
  if (!root) return failure(root.error());
  model::ParseErrors errors(path, std::string(kOperation));
  model::check_format(*root, kHintFormat, errors);
  model::reject_unknown_keys(*root, "", {"format", "command", "hint"}, errors);
  const auto* const entries = root->get_as<toml::array>("hint");
  if (entries != nullptr && entries->size() > kHintsMax) {
    errors.add(entries->get(kHintsMax)->source(), "there are " + std::to_string(entries->size()) +
                                                      " hints: write at most " +
                                                      std::to_string(kHintsMax));
  }
  std::vector<FileHint> hints;
  if (!errors.first()) hints = model::read_tables(*root, "hint", read_hint, errors);
  if (errors.first()) return failure(*errors.first());
  return hints;
}

Result<std::vector<FileHint>> read_hint_file(const std::string& path) {
  const auto text = read_text_file(path, kOperation, kHintFileBytesMax);
  if (!text) return failure(text.error());
  return parse_hints(*text, path);
}

Status write_hint_file(const std::string& path,
                       std::span<const FileHint> hints,
                       std::string_view command) {
  toml::array entries;
  std::size_t bytes = kHeadBytesMax;
  for (const FileHint& hint : hints) {
    toml::table table = table_of(hint);
    bytes += table.get_as<std::string>("signature")->get().size() + kKeysBytesMax +
             kEscapeBytes * hint.file.size();
    if (bytes > kHintFileBytesMax) break;
    entries.push_back(std::move(table));
  }
  std::ostringstream text;
  toml::table root{{"format", kHintFormat}, {"hint", std::move(entries)}};
  if (!command.empty()) root.insert("command", to_printable(command));
  text << root << '\n';
  auto file = TemporaryFile::create_beside(path);
  if (!file) return failure(file.error());
  std::ofstream out(file->path(), std::ios::binary);
  out << std::move(text).str();
  out.close();
  if (out) return file->publish();
  return failure(
      {.operation = "write hints", .path = path, .error_number = errno, .cause = "incomplete"});
}

bool is_pattern(std::string_view file) noexcept {
  return file.find_first_of(kSpecial) != std::string_view::npos;
}

std::string pattern_of(std::string_view path) {
  std::string pattern;
  for (const char one : path) {
    if (kSpecial.find(one) != std::string_view::npos) pattern += '\\';
    pattern += one;
  }
  return pattern;
}

FileVersion version_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {static_cast<std::uint64_t>(found.st_size),
          static_cast<std::uint64_t>(found.st_mtim.tv_sec) * 1'000'000'000U +
              static_cast<std::uint64_t>(found.st_mtim.tv_nsec)};
}

std::vector<const FileHint*> hints_for(std::span<const FileHint> hints,
                                       std::string_view file,
                                       const FileVersion& version) {
  std::vector<const FileHint*> found;
  for (const FileHint& hint : hints)
    if (hint.file == file && is_unchanged(hint.version, version)) found.push_back(&hint);
  const std::string path(file);
  for (const FileHint& hint : hints)
    if (hint.file != file && is_match(hint, path, version)) found.push_back(&hint);
  return found;
}

bool is_match(const FileHint& hint, const std::string& file, const FileVersion& version) {
  return is_unchanged(hint.version, version) && ::fnmatch(hint.file.c_str(), file.c_str(), 0) == 0;
}

}  // namespace forebay::push
