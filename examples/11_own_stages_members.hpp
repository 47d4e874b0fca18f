// SPDX-License-Identifier: Apache-2.0
// The evaluation of 11_own_stages.cpp: the outputs of a layer are made on the device for all members, and come to the
// host, where a function scores them.
#pragma once

#include "yolk/evolution.hpp"

constexpr std::uint32_t kMembers = 256, kIn = 3, kClasses = 3;

/// One worker's: its buffers, its plan and its recorder.
[[nodiscard]] yolk::Result<std::unique_ptr<yolk::evolve::MemberEvaluator>> layer_members(const yolk::Device& device,
                                                                                         yolk::Dispatcher& dispatcher);
