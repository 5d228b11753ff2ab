// SPDX-License-Identifier: Apache-2.0
// What users call an engine and what storage calls a backend, translated in one place: for the
// Runtime, and for the doctor, which tells what a Runtime would do.
#pragma once

#include <forebay/runtime.hpp>

#include "storage/probe.hpp"

namespace forebay {

constexpr storage::BackendChoice backend_choice(EngineChoice choice) noexcept {
  switch (choice) {
    case EngineChoice::kAuto:
      return storage::BackendChoice::kAuto;
    case EngineChoice::kRing:
      return storage::BackendChoice::kRing;
    case EngineChoice::kThreads:
      return storage::BackendChoice::kThreads;
    case EngineChoice::kAio:
      break;
  }
  return storage::BackendChoice::kAio;
}

}  // namespace forebay
