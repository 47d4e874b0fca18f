// SPDX-License-Identifier: Apache-2.0
// A tag lasts as long as its variable. Without one it would end at once, so the compiler has to refuse it: the tests
// hyper.a_tag.has_a_name_* compile this file both ways.
#include "yolk/internal/hyper/control.hpp"

yolk::hyper::Traced judged(const yolk::hyper::Traced& x) {
#if TAG_HAS_A_NAME
    const yolk::hyper::Tag tag("judge");
#else
    yolk::hyper::Tag("judge");
#endif
    return x;
}
