// SPDX-License-Identifier: Apache-2.0
#include "base/lock.hpp"

namespace yolk::python {

thread_local int InsideBody::depth_ = 0;
thread_local InsideBody::Here InsideBody::here_ = InsideBody::Here::Elsewhere;

}  // namespace yolk::python
