// SPDX-License-Identifier: Apache-2.0
// The templates of hyperfunction.hpp; not to be included by anyone else.
#pragma once

#include "yolk/hyper/hyperfunction.hpp"
