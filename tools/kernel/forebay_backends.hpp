// SPDX-License-Identifier: Apache-2.0
// Forebay's own backends of kernels.
#pragma once

#include "kernels/backend.h"

/// Datasets.
extern const fk_backend fk_forebay;
/// Sessions, which read one shared file for each step.
extern const fk_backend fk_session;
