// SPDX-License-Identifier: Apache-2.0
#include "known_state.hpp"

#include <algorithm>

namespace yolk {

Value either_value(const Value& a, const Value& b, bool widen) {
    Value both = a;
    for (std::size_t i = 0; i < both.size() && i < b.size(); ++i) both[i] = either(a[i], b[i], widen);
    return both;
}

const Leaf* KnownState::leaf_of(const Origin& origin) const {
    if (origin.object == 0) return nullptr;
    const auto found = objects.find(origin.object);
    if (found == objects.end() || found->second.version != origin.version) return nullptr;
    const Value& leaves = *found->second.leaves;
    return origin.leaf < leaves.size() ? &leaves[origin.leaf] : nullptr;
}

void KnownState::narrow(const Origin& origin, const Leaf& leaf) {
    const Leaf* const held = leaf_of(origin);
    if (held == nullptr || held->kind != leaf.kind) return;
    Leaf narrower = leaf;
    narrower.written = held->written;
    if (narrower == *held) return;
    Object& object = objects[origin.object];
    auto leaves = std::make_shared<Value>(*object.leaves);
    (*leaves)[origin.leaf] = narrower;
    object.leaves = std::move(leaves);
}

KnownState KnownState::either_of(const KnownState& a, const KnownState& b, bool widen, std::uint64_t& versions) {
    KnownState both;
    for (const auto& [id, object] : a.objects) {
        const auto other = b.objects.find(id);
        if (other == b.objects.end()) continue;
        Object joined = object;
        if (object.leaves != other->second.leaves)
            joined.leaves = std::make_shared<Value>(either_value(*object.leaves, *other->second.leaves, widen));
        if (object.version != other->second.version) joined.version = ++versions;
        both.objects.emplace(id, std::move(joined));
    }
    for (const auto& [id, leaf] : a.facts) {
        const auto other = b.facts.find(id);
        if (other != b.facts.end()) both.facts.emplace(id, either(leaf, other->second, widen));
    }
    return both;
}

bool KnownState::is_same(const KnownState& other) const {
    if (facts != other.facts || objects.size() != other.objects.size()) return false;
    return std::equal(objects.begin(), objects.end(), other.objects.begin(), [](const auto& a, const auto& b) {
        return a.first == b.first && (a.second.leaves == b.second.leaves || *a.second.leaves == *b.second.leaves);
    });
}

}  // namespace yolk
