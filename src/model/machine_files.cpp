// SPDX-License-Identifier: Apache-2.0
// Finds machine files by path, or by name in directories. One directory is beside this library,
// wherever it was built or installed.
#include <algorithm>
#include <set>
#include <system_error>

#include <dlfcn.h>
#include <link.h>

#include "base/text_file.hpp"
#include "model/machine.hpp"
#include "model/profile_path.hpp"

namespace forebay::model {

namespace {

constexpr std::string_view kDirectoriesVariable = "FOREBAY_MACHINES";
constexpr std::string_view kExtension = ".toml";

std::optional<std::filesystem::path> find_named(
    const std::string& name, std::span<const std::filesystem::path> directories) {
  for (const std::filesystem::path& directory : directories) {
    std::filesystem::path path = directory / (name + std::string(kExtension));
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

Error unknown_machine(const std::string& name, std::span<const std::filesystem::path> directories) {
  std::string cause = "no machine has this name";
  const std::vector<std::string> known = machine_names(directories);
  if (known.empty()) {
    cause += ", and no directory has machine files; give the path of one";
  } else {
    cause += "; known machines are";
    for (const std::string& one : known)
      cause += (&one == &known.front() ? " " : ", ") + one;
  }
  return Error({.kind = ErrorClass::kNotFound,
                .operation = "read machine",
                .path = name,
                .cause = std::move(cause)});
}

bool is_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(kExtension);
}

/// The shared library that holds this code, or the program if the code is linked statically. An
/// empty path if it is unknown.
struct CodeFile {
  std::filesystem::path path;
  bool is_library = false;
};

CodeFile file_of_this_code() {
  Dl_info info{};
  link_map* map = nullptr;
  const void* const address = reinterpret_cast<const void*>(&file_of_this_code);
  const bool is_found =
      ::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  const bool is_library = is_found && map != nullptr && *map->l_name != '\0';
  std::error_code failed;
  std::filesystem::path path =
      std::filesystem::canonical(is_library ? map->l_name : "/proc/self/exe", failed);
  if (failed) path.clear();
  return {.path = std::move(path), .is_library = is_library};
}

/// The files beside this library or program belong to it: those of another version may differ.
/// Programs for tests are in another directory than installed ones. An extension module that
/// contains the library is beside the programs.
std::optional<std::filesystem::path> shipped_directory() {
  const CodeFile code = file_of_this_code();
  if (code.path.empty()) return std::nullopt;
  const auto beside = [&code](const char* relative) {
    return (code.path.parent_path() / relative).lexically_normal();
  };
  std::filesystem::path of_program = beside(FOREBAY_MACHINES_FROM_PROGRAM);
  std::error_code failed;
  std::filesystem::path of_library = beside(FOREBAY_MACHINES_FROM_LIBRARY);
  // The other place of a library is outside its prefix, and may be that of another one.
  const bool is_beside_library =
      code.is_library && std::filesystem::is_directory(of_library, failed);
  const bool is_beside_program = std::filesystem::is_directory(of_program, failed);
  return is_beside_program && !is_beside_library ? of_program : of_library;
}

}  // namespace

std::vector<std::string> machine_names(std::span<const std::filesystem::path> directories) {
  std::set<std::string> names;
  for (const std::filesystem::path& directory : directories) {
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      if (entry->path().extension() == kExtension) names.insert(entry->path().stem());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::filesystem::path> machine_directories(const Environment& environment) {
  std::vector<std::filesystem::path> directories;
  const auto named =
      std::ranges::find(environment, kDirectoriesVariable, &Environment::value_type::first);
  if (named != environment.end()) {
    std::string_view rest = named->second;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) directories.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (const std::string own = user_machine_directory(environment); !own.empty())
    directories.emplace_back(own);
  if (auto shipped = shipped_directory()) directories.push_back(*std::move(shipped));
  return directories;
}

Result<std::filesystem::path> find_machine(const std::string& name_or_path,
                                           std::span<const std::filesystem::path> directories) {
  if (is_path(name_or_path)) return name_or_path;
  const auto found = find_named(name_or_path, directories);
  if (!found) return failure(unknown_machine(name_or_path, directories));
  return *found;
}

Result<Machine> load_machine(const std::string& name_or_path,
                             std::span<const std::filesystem::path> directories) {
  const Result<std::filesystem::path> path = find_machine(name_or_path, directories);
  if (!path) return failure(path.error());
  const Result<std::string> text = read_text_file(*path, "read machine");
  if (!text) return failure(text.error());
  return parse_machine(*text, *path);
}

}  // namespace forebay::model
