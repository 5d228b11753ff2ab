// SPDX-License-Identifier: Apache-2.0
// Maps the engine of the options to the backend of the storage module. Used by the Runtime, and by
// the doctor, which reports the backend of a Runtime.
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
