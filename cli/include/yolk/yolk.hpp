// SPDX-License-Identifier: Apache-2.0
// What most programs need: a context, systems and what tunes them, training. Operations and what engines use have
// headers of their own beside this one; below yolk/internal/ is nothing that a program names.
#pragma once

#include "yolk/context.hpp"
#include "yolk/models.hpp"
#include "yolk/optimize.hpp"
#include "yolk/result.hpp"
#include "yolk/run_system.hpp"
#include "yolk/system.hpp"
#include "yolk/tensor.hpp"
#include "yolk/train.hpp"
