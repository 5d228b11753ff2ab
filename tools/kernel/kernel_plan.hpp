// SPDX-License-Identifier: Apache-2.0
// KernelPlan: a kernel as the command line passes it, checked and complete, with the memory that
// the structures of kernels/kernel.h point to.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/kernel.h"

namespace forebay::kernel {

/// Move-only; its pointers stay valid.
class KernelPlan {
 public:
  /// From the document that python/forebay/kernel_file.py writes: the kernel file with all defaults
  /// and cumulative weights. Fails with kInvalidArgument; the Error names the operation and, for
  /// offsets and names, the place in the text.
  static Result<KernelPlan> parse(const nlohmann::json& document);
  /// The same for a file.
  static Result<KernelPlan> read(const std::filesystem::path& path);

  const fk_kernel& kernel() const noexcept { return *kernel_; }

 private:
  KernelPlan() = default;
  fk_distribution make_distribution(const nlohmann::json& document);
  Status add_operation(const nlohmann::json& document, const std::vector<std::string>& names);
  Status add_offsets(std::string text, const std::vector<std::string>& names, fk_operation& into);
  Status add_name(const nlohmann::json& document, std::vector<std::string>& names);
  const char* keep(std::string text);
  template <class T>
  const T* keep(std::deque<std::vector<T>>& kept, std::vector<T> values) {
    return kept.emplace_back(std::move(values)).data();
  }

  std::unique_ptr<fk_kernel> kernel_ = std::make_unique<fk_kernel>();
  std::vector<fk_operation> operations_;
  std::vector<fk_expression> expressions_;
  std::deque<std::string> texts_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::vector<fk_distribution>> parts_;
  std::deque<std::vector<fk_token>> tokens_;
  std::deque<std::vector<fk_node>> nodes_;
  std::deque<std::vector<fk_term>> terms_;
  std::deque<std::vector<std::uint8_t>> products_;
};

}  // namespace forebay::kernel
