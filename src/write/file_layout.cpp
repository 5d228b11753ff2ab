// SPDX-License-Identifier: Apache-2.0
#include "write/file_layout.hpp"

#include <algorithm>
#include <string>

namespace forebay::write {

model::Layout layout_of_file(const model::Machine& machine,
                             const WritePlan& plan,
                             FileNumber file) {
  model::Layout layout = model::layout_of_new_file(machine, file);
  if (plan.tuning.stripe_bytes != 0) layout.stripe_bytes = plan.tuning.stripe_bytes;
  if (plan.tuning.stripe_count != 0)
    layout.stripe_count = std::min(plan.tuning.stripe_count, machine.server_count());
  return layout;
}

std::uint64_t name_hash_of_file(const model::Machine& machine, FileNumber file) {
  return model::name_hash(machine.metadata.spread, 0, "data-" + std::to_string(file));
}

}  // namespace forebay::write
