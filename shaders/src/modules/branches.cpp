// SPDX-License-Identifier: Apache-2.0
#include "branches.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <spirv/unified1/spirv.hpp>

namespace yolk {
namespace {

using BranchWords = std::vector<std::uint32_t>;

class BranchRemover {
   public:
    BranchRemover(const SelectionTypes& types, std::uint32_t& next) : types_(types), next_(next) {}

    [[nodiscard]] std::optional<BranchWords> remove(std::span<const std::uint32_t> function) {
        for (std::size_t at = 0; at < function.size();) {
            const std::size_t count = function[at] >> spv::WordCountShift;
            if (!take(function[at] & spv::OpCodeMask, function.subspan(at, count))) return {};
            at += count;
        }
        return std::move(body_);
    }

   private:
    /// Of a block: the id of what is true where invocations come to it. 0: all do.
    using Reached = std::uint32_t;

    void add(std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
        body_.push_back((static_cast<std::uint32_t>(operands.size() + 1) << spv::WordCountShift) | op);
        body_.insert(body_.end(), operands);
    }
    Reached both(Reached reached, std::uint32_t condition) {
        if (reached == 0) return condition;
        add(spv::OpLogicalAnd, {types_.boolean, next_, reached, condition});
        return next_++;
    }
    void branch(std::span<const std::uint32_t> words) {
        const std::uint32_t condition = words[1], yes = words[2], no = words[3];
        if (yes != merge_) reached_[yes] = both(now_, condition);
        if (no != merge_) {
            add(spv::OpLogicalNot, {types_.boolean, next_, condition});
            reached_[no] = both(now_, next_++);
        }
        reached_[merge_] = now_;
        merge_ = 0;
    }
    /// Of the two blocks before, one may be the branch itself.
    bool select_between(std::span<const std::uint32_t> words) {
        if (words.size() != 7) return false;
        if (!reached_.contains(words[4]) || !reached_.contains(words[6])) return false;
        const Reached by_first = reached_.at(words[4]), by_second = reached_.at(words[6]);
        if (by_first != now_)
            add(spv::OpSelect, {words[1], words[2], by_first, words[3], words[5]});
        else
            add(spv::OpSelect, {words[1], words[2], by_second, words[5], words[3]});
        return by_first != now_ || by_second != now_;
    }
    /// A first store may be seen where it was not to be: nothing reads the variable there.
    void store(std::uint32_t variable, std::uint32_t value) {
        const bool is_first = variables_.contains(variable) && written_.insert(variable).second;
        if (now_ != 0 && !is_first) {
            const std::uint32_t type = types_.pointees.at(pointers_.at(variable));
            std::uint32_t before = next_;
            if (const auto known = known_.find(variable); known != known_.end())
                before = known->second;
            else
                add(spv::OpLoad, {type, next_++, variable});
            add(spv::OpSelect, {type, next_, now_, value, before});
            value = next_++;
        }
        add(spv::OpStore, {variable, value});
        known_[variable] = value;
    }
    /// False: no such function.
    bool take(std::uint32_t op, std::span<const std::uint32_t> words) {
        switch (op) {
            case spv::OpLabel:
                if (has_label_) {
                    if (!reached_.contains(words[1])) return false;
                    now_ = reached_.at(words[1]);
                    return true;
                }
                has_label_ = true;
                reached_[words[1]] = 0;
                break;
            case spv::OpSelectionMerge: merge_ = words[1]; return true;
            case spv::OpBranchConditional:
                if (merge_ == 0) return false;
                branch(words);
                return true;
            case spv::OpBranch: return true;
            case spv::OpPhi: return select_between(words);
            case spv::OpStore:
                if (!pointers_.contains(words[1]) || !types_.pointees.contains(pointers_.at(words[1]))) return false;
                store(words[1], words[2]);
                return true;
            case spv::OpFunctionCall:
                for (const std::uint32_t argument : words.subspan(4)) known_.erase(argument);
                break;
            case spv::OpFunctionParameter: pointers_[words[2]] = words[1]; break;
            case spv::OpVariable:
                pointers_[words[2]] = words[1];
                if (words.size() == 4) variables_.insert(words[2]);  // no initializer
                break;
            case spv::OpReturn:
            case spv::OpReturnValue:
                if (now_ != 0) return false;
                break;
            case spv::OpLoopMerge:
            case spv::OpSwitch:
            case spv::OpKill:
            case spv::OpUnreachable:
            case spv::OpAccessChain: return false;
            default: break;
        }
        body_.insert(body_.end(), words.begin(), words.end());
        return true;
    }

    const SelectionTypes& types_;
    std::uint32_t& next_;
    BranchWords body_;
    std::map<std::uint32_t, Reached> reached_;         // by label
    std::map<std::uint32_t, std::uint32_t> pointers_;  // by variable or parameter: its type
    std::set<std::uint32_t> variables_, written_;
    std::map<std::uint32_t, std::uint32_t> known_;  // by variable: what it holds
    Reached now_ = 0;
    std::uint32_t merge_ = 0;
    bool has_label_ = false;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> without_branches(std::span<const std::uint32_t> function,
                                                           const SelectionTypes& types, std::uint32_t& next) {
    return BranchRemover(types, next).remove(function);
}

}  // namespace yolk
