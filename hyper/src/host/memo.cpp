// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "graph_queries.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {
namespace {

/// Bytes that tell one equation with its operands from another; fields cannot run into each other.
class MemoKey {
   public:
    MemoKey(const Equation& equation, std::span<const Value> operands) {
        pointer(equation.operation);
        pointer(equation.host.get());
        number(equation.bodies.size());
        for (const Body& body : equation.bodies) pointer(body.get());
        number(equation.attributes.size());
        for (const auto& [name, attribute] : equation.attributes) {
            text(name);
            number(attribute.index());
            std::visit([this](const auto& value) { add(value); }, attribute);
        }
        for (const Value& operand : operands) add(operand);
    }
    [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

   private:
    template <class T>
    void raw(const T& value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));  // NOLINT: its bytes
    }
    void pointer(const void* value) { raw(value); }
    void number(std::uint64_t value) { raw(value); }
    void text(const std::string& value) {
        number(value.size());
        bytes_ += value;
    }
    void add(std::int64_t value) { raw(value); }
    void add(double value) { raw(value); }
    void add(const std::string& value) { text(value); }
    void add(const std::vector<std::string>& values) {
        number(values.size());
        for (const std::string& value : values) text(value);
    }
    void add(const std::vector<std::int64_t>& values) {
        number(values.size());
        for (const std::int64_t value : values) raw(value);
    }
    void add(const Value& value) {
        number(static_cast<std::uint64_t>(value.kind()));
        if (const std::string* words = value.text()) text(*words);
        if (const double* real = value.number()) raw(*real);
        if (const bool* truth = value.boolean()) raw(*truth);
        if (const std::int64_t* integer = value.integer()) raw(*integer);
        if (const List* list = value.list()) {
            number(list->items().size());
            for (const Value& item : list->items()) add(item);
        }
        if (const Record* record = value.record()) {
            number(record->fields().size());
            for (const auto& [name, field] : record->fields()) {
                text(name);
                add(field);
            }
        }
        if (const Tensor* tensor = value.tensor()) {
            number(tensor->shape().rank());
            for (const std::uint64_t extent : tensor->shape().extents()) number(extent);
            for (const float element : tensor->values()) raw(element);
            number(tensor->numbers().size());
            for (const double exact : tensor->numbers()) raw(exact);
        }
    }

    std::string bytes_{};
};

bool is_marked(const Equation& equation) {
    if (is(equation, "checkpoint") || is(equation, "factor")) return true;
    return std::ranges::any_of(equation.bodies,
                               [](const Body& body) { return std::ranges::any_of(body->equations, is_marked); });
}

}  // namespace

struct Memo::Impl {
    struct Entry {
        std::vector<Value> results{};
        HostFunctionPtr host{};      // alive, so that no other gets its address
        std::vector<Body> bodies{};  // likewise
    };
    mutable std::mutex mutex{};
    std::unordered_map<std::string, Entry> known{};
    std::uint64_t hits = 0, misses = 0;

    std::optional<std::vector<Value>> find(const std::string& key) {
        const std::lock_guard lock(mutex);
        const auto found = known.find(key);
        ++(found != known.end() ? hits : misses);
        return found != known.end() ? std::optional(found->second.results) : std::nullopt;
    }
    void keep(std::string key, const Equation& equation, const std::vector<Value>& results) {
        const std::lock_guard lock(mutex);
        known.emplace(std::move(key), Entry{results, equation.host, equation.bodies});
    }
};

Memo::Memo() : impl_(std::make_unique<Impl>()) {}
Memo::~Memo() = default;
std::uint64_t Memo::hits() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->hits;
}
std::uint64_t Memo::misses() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->misses;
}

Result<std::vector<Value>> call(const Graph& graph, const GraphArguments& arguments, Memo& memo) {
    YOLK_TRY(Walk walk, Walk::create(graph, arguments));
    while (const Equation* equation = walk.next()) {
        if (is_marked(*equation)) {
            YOLK_TRY_VOID(walk.step());
            continue;
        }
        YOLK_TRY(const std::vector<Value> operands, walk.operands());
        std::string key = MemoKey(*equation, operands).bytes();
        if (auto known = memo.impl_->find(key)) {
            YOLK_TRY_VOID(walk.skip(*std::move(known)));
            continue;
        }
        YOLK_TRY(const std::vector<Value> results, walk.step());
        memo.impl_->keep(std::move(key), *equation, results);
    }
    return walk.outputs();
}

}  // namespace yolk::hyper
