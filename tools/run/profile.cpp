// SPDX-License-Identifier: Apache-2.0
#include "tools/run/profile.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace forebay::run {

namespace {

namespace fs = std::filesystem;

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char one : text)
    hash = (hash ^ static_cast<unsigned char>(one)) * 0x100000001b3U;
  return hash;
}

std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += kDigits[value >> static_cast<unsigned>(shift) & 15U];
  return text;
}

}  // namespace

std::string profile_name(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) {
    bool was_digit = false;
    for (const char one : word) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(one)) != 0;
      if (!is_digit) all += one;
      if (is_digit && !was_digit) all += '#';
      was_digit = is_digit;
    }
    all += '\0';
  }
  std::string program = words.empty() ? "program" : fs::path(words.front()).filename().string();
  for (char& one : program)
    if (std::isalnum(static_cast<unsigned char>(one)) == 0 && one != '.' && one != '-') one = '_';
  return program.substr(0, 64) + "-" + hex(hash_of(all));
}

bool Profile::add_process(std::uint32_t process, const std::vector<std::string>& words) {
  if (folder_.empty() || names_.contains(process)) return false;
  const std::string name = profile_name(words);
  names_[process] = name;
  auto& program = programs_[name];
  if (program) return true;
  program = std::make_unique<Program>();
  program->path = (fs::path(folder_) / (name + ".hints")).string();
  // A damaged profile is replaced at the end.
  if (auto hints = push::read_hint_file(program->path)) program->hints = std::move(*hints);
  return true;
}

/// Patterns are not files.
std::vector<std::string> Profile::files(std::uint32_t process, std::size_t count_max) const {
  std::vector<std::string> found;
  const auto name = names_.find(process);
  if (name == names_.end()) return found;
  for (const push::FileHint& hint : programs_.at(name->second)->hints) {
    const bool is_known = std::ranges::find(found, hint.file) != found.end();
    const bool is_path = hint.file.find_first_of("*?[\\") == std::string::npos;
    if (is_path && !is_known && found.size() < count_max) found.push_back(hint.file);
  }
  return found;
}

std::vector<std::shared_ptr<const trace::Signature>> Profile::hints_for(
    std::uint32_t process, std::string_view path) const {
  std::vector<std::shared_ptr<const trace::Signature>> signatures;
  const auto name = names_.find(process);
  if (name == names_.end()) return signatures;
  for (const push::FileHint* const hint :
       push::hints_for(programs_.at(name->second)->hints, path)) {
    if (hint->signature) signatures.push_back(hint->signature);  // else one that a user has added
  }
  return signatures;
}

void Profile::learn(std::uint32_t process,
                    const std::string& path,
                    std::vector<trace::Access> reads) {
  const auto name = names_.find(process);
  if (name != names_.end()) programs_.at(name->second)->learned.add(path, std::move(reads));
}

void Profile::write() const {
  std::error_code failed;
  if (!programs_.empty()) fs::create_directories(folder_, failed);
  for (const auto& [name, program] : programs_) {
    const auto hints = program->learned.merge(program->hints);
    if (!hints.empty()) static_cast<void>(push::write_hint_file(program->path, hints));
  }
}

}  // namespace forebay::run
