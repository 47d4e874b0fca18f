// SPDX-License-Identifier: Apache-2.0
// Mails to a shop, and what is to be done about each.
#pragma once

#include <vector>

#include "yolk/system.hpp"

namespace router_example {

/// Input "mail"; expected "refund 4711": what is wanted, and for which order. Some mails quote a line that has the
/// number of the order (at most a quarter of their lines); others, all of an older mail about another order (at least
/// .4).
[[nodiscard]] std::vector<yolk::hyper::Example> mails();
[[nodiscard]] std::vector<yolk::hyper::Example> held_out_mails();

/// 1 for the expected answer; otherwise .4 for the action in it, and .4 for the number. Says what was wrong in words.
[[nodiscard]] yolk::hyper::Metric right_answer();

}  // namespace router_example
